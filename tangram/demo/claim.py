"""Makes a claim that fits a node: KEP-4815's four partitions of one GPU, in the node's own profiles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent.hardware.types import MigProfile
from agent.inventory.model import Inventory
from agent.inventory.names import profile_label
from tangram.classes import class_name


def suitable_claim(inventory: Inventory, driver: str) -> dict[str, Any]:
    """Return a ResourceClaim for the node: partitions of one GPU, or one whole GPU where none can be cut."""
    entry = next((entry for entry in inventory.gpus if entry.profiles and entry.offers_partitions), None)
    if entry is None:
        return _claim("whole-gpu", {"requests": [_request("gpu", class_name("gpu", driver))]})
    profiles = list(_filling(entry.profiles))
    requests = [
        _request(_name(profiles, index), class_name("mig", driver), _selector(profile, driver))
        for index, profile in enumerate(profiles)
    ]
    same_gpu = [{"matchAttribute": f"{driver}/parentUUID"}]
    return _claim("mig-devices", {"requests": requests, "constraints": same_gpu})


def _filling(profiles: tuple[MigProfile, ...]) -> Iterator[MigProfile]:
    """Yield the plainest profile of each size, the smallest one twice, while they fit side by side.

    A GPU of which no profile of all slices is known has no more multiprocessors to give than its largest one.
    """
    left = max(profile.multiprocessors for profile in profiles)
    room = max(place.start + place.size for profile in profiles for place in profile.placements)
    sizes = sorted({profile.compute_slices for profile in profiles})
    for size in (sizes[0], *sizes):
        profile = min((profile for profile in profiles if profile.compute_slices == size), key=_plainness)
        room -= profile.placements[0].size
        left -= profile.multiprocessors
        if room < 0 or left < 0:
            return
        yield profile


def _plainness(profile: MigProfile) -> tuple[int, int, str]:
    engines = profile.decoders + profile.jpeg_engines + profile.ofa_engines
    return profile.memory_bytes, engines, profile.name


def _name(profiles: list[MigProfile], index: int) -> str:
    """Return the request's name; requests for one profile are numbered."""
    profile = profiles[index]
    name = f"mig-{profile_label(profile.name)}"
    return f"{name}-{profiles[:index].count(profile)}" if profiles.count(profile) > 1 else name


def _selector(profile: MigProfile, driver: str) -> str:
    return f'device.attributes["{driver}"].profile == "{profile.name}"'


def _request(name: str, class_name: str, *expressions: str) -> dict[str, Any]:
    exactly: dict[str, Any] = {"deviceClassName": class_name}
    if expressions:
        exactly["selectors"] = [{"cel": {"expression": expression}} for expression in expressions]
    return {"name": name, "exactly": exactly}


def _claim(name: str, devices: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "default", "name": name},
        "spec": {"devices": devices},
    }
