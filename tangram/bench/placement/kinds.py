"""The kinds of claims that the mixes of B9 consist of, with what each takes of a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_claim
from scheduler_core.model.claim import Claim
from tangram.bench.machine import DRIVER
from tangram.bench.objects import Json, claim, request, wanted

MEMORY_SLICES: Final = 8
A100: Final[Mapping[str, str]] = {
    "1g": "1g.5gb",
    "1gm": "1g.10gb",
    "2g": "2g.10gb",
    "3g": "3g.20gb",
    "4g": "4g.20gb",
    "7g": "7g.40gb",
}
H100: Final[Mapping[str, str]] = {
    "1g": "1g.10gb",
    "1gm": "1g.20gb",
    "2g": "2g.20gb",
    "3g": "3g.40gb",
    "4g": "4g.40gb",
    "7g": "7g.80gb",
}
_WEIGHTS: Final = {"1g": 1 / 7, "1gm": 2 / 8, "2g": 2 / 7, "3g": 4 / 8, "4g": 4 / 7, "7g": 1.0}
_SLICES: Final = {"1g": 1, "1gm": 2, "2g": 2, "3g": 4, "4g": 4, "7g": 8}
_SAME_GPU: Final = {"matchAttribute": f"{DRIVER}/parentUUID"}
_SAME_ROOT: Final = {"matchAttribute": "resource.kubernetes.io/pcieRoot"}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of claim.

    Shape: ``document`` is the claim as an API server takes it; ``apart`` are the claims to ask for one after
           another where alternatives are asked for apart.
    Units: ``weight`` in GPUs, the larger of its shares of compute and of memory; ``slices`` memory slices.
    """

    name: str
    document: Json
    claim: Claim
    weight: float
    slices: int
    apart: tuple[Claim, ...]


def partition(profile: str, names: Mapping[str, str] = A100) -> Kind:
    """Return a claim for one partition."""
    return _kind(profile, [_mig("r", names[profile])], _WEIGHTS[profile], _SLICES[profile])


def small_gpu_partition(profile: str, slices: int) -> Kind:
    """Return a claim for one partition of a GPU with four memory slices."""
    return _kind(profile, [_mig("r", profile)], slices / 4, slices)


def whole(count: int) -> Kind:
    """Return a claim for whole GPUs of one node."""
    return _kind(f"{count} GPUs", [_gpus("r", count)], count, MEMORY_SLICES * count)


def seed_claim() -> Kind:
    """Return the claim of KEP-4815: four partitions that fill one GPU."""
    profiles = ("1g", "1g", "2g", "3g")
    requests = [_mig(f"r{number}", A100[profile]) for number, profile in enumerate(profiles)]
    return _kind("KEP-4815", requests, 1.0, MEMORY_SLICES, _SAME_GPU)


def same_gpu(profile: str, count: int) -> Kind:
    """Return a claim for some equal partitions of one GPU."""
    asked = [_mig("r", A100[profile], count)]
    return _kind(
        f"{count} × {profile}", asked, count * _WEIGHTS[profile], count * _SLICES[profile], _SAME_GPU
    )


def gpu_or_partition(profile: str) -> Kind:
    """Return a claim for a GPU, or else one partition."""
    options = [
        {"name": "gpu", **wanted(f"gpu.{DRIVER}", None, 1)},
        {"name": "part", **wanted(f"mig.{DRIVER}", _profile(A100[profile]), 1)},
    ]
    either = _kind(f"GPU or {profile}", [{"name": "r", "firstAvailable": options}], 1.0, MEMORY_SLICES)
    apart = tuple(
        decode_claim(claim("kind", [{"name": "r", "firstAvailable": [option]}])) for option in options
    )
    return replace(either, apart=apart)


def with_nic() -> Kind:
    """Return a claim for a GPU and a NIC on one PCIe root."""
    asked = [_gpus("gpu", 1), request("nic", f"nic.{DRIVER}")]
    return _kind("GPU + NIC", asked, 1.0, MEMORY_SLICES, _SAME_ROOT)


def with_vf(profile: str) -> Kind:
    """Return a claim for a partition and a VF on one PCIe root."""
    asked = [_mig("part", A100[profile]), request("vf", f"vf.{DRIVER}")]
    return _kind(f"{profile} + VF", asked, _WEIGHTS[profile], _SLICES[profile], _SAME_ROOT)


def share_of_gpu(gibibytes: int) -> Kind:
    """Return a claim for a part of the memory of a GPU that several claims use."""
    asked = request("r", f"gpu.{DRIVER}", f'device.attributes["{DRIVER}"].shared')
    asked["exactly"]["capacity"] = {"requests": {"memory": f"{gibibytes}Gi"}}
    return _kind(f"{gibibytes} GiB", [asked], gibibytes / 40, gibibytes // 5)


def unshared_gpu() -> Kind:
    """Return a claim for a whole GPU, where other GPUs serve many claims."""
    asked = request("r", f"gpu.{DRIVER}", f'!device.attributes["{DRIVER}"].shared')
    return _kind("unshared GPU", [asked], 1.0, MEMORY_SLICES)


def _kind(name: str, requests: Sequence[Json], weight: float, slices: int, *constraints: Json) -> Kind:
    document = claim("kind", requests, *constraints)
    asked = decode_claim(document)
    return Kind(name, document, asked, weight, slices, (asked,))


def _mig(name: str, profile: str, count: int = 1) -> Json:
    return request(name, f"mig.{DRIVER}", _profile(profile), count)


def _gpus(name: str, count: int) -> Json:
    return request(name, f"gpu.{DRIVER}", None, count)


def _profile(profile: str) -> str:
    return f'device.attributes["{DRIVER}"].profile == "{profile}"'
