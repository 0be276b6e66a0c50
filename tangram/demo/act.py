"""The second half of the demo: an allocation becomes partitions and CDI documents, and is undone again.

It plays the API server (a folder of claims) and the kubelet (calls over unix sockets); the plugin between
them is the real one. At the end it counts what is left over, which should be nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Group
from rich.text import Text

from agent.hardware.errors import DriverMissing
from agent.hardware.ports import GpuReader, Machine
from agent.hardware.types import Gpu, GpuInstance
from agent.inventory.names import memory_slice_range
from plugin.options import Options
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.allocations import claim_status
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.result import Allocation
from tangram.demo.conversation import conversation
from tangram.demo.kubelet import Kubelet
from tangram.demo.request import Asked
from tangram.demo.station import Station
from tangram.machines import Serve
from tangram.node_options.offered import Offered
from tangram.pictures.cdi import cdi_picture
from tangram.pictures.counted import counted
from tangram.plain import plain
from tangram.program.fitting import Column, FittingTable
from tangram.program.output import yaml_text

_MIG_HEADS: Final = ("GPU", "GI", "CI", "profile", "memory slices", "MIG device")
_PLURALS: Final = {"GPU in MIG mode": "GPUs in MIG mode"}


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders of one walk. Shape: short paths, since sockets lie below them."""

    root: Path

    @property
    def claims(self) -> Path:
        """Return where claims are read from."""
        return self.root / "claims"

    def options(self, driver: str, node: str, offered: Offered) -> Options:
        """Return the options of the plugin. Raises: InvalidOption where a socket's path is too long."""
        return Options(
            driver_name=driver,
            node_name=node,
            kubelet_dir=self.root / "kubelet",
            cdi_dir=self.root / "cdi",
            modes=offered.modes,
            split=offered.split,
            linked=offered.linked,
            imex_channels=offered.imex_channels,
        )


def stations(
    machine: Machine, options: Options, workspace: Workspace, decided: tuple[Asked, Allocation], serve: Serve
) -> Iterator[Station]:
    """Yield the stations from prepare to unprepare."""
    claims = tuple(_store(workspace.claims, *decided))
    kubelet = Kubelet()
    before = _cut(machine)
    with serve(machine, options, workspace.claims):
        endpoint = kubelet.register(options.registration_socket)
        prepared = kubelet.prepare(endpoint, claims)
        errors = [outcome.error for outcome in prepared.claims.values() if outcome.error]
        step = "plugin.kubelet.dra_grpc.DraV1.NodePrepareResources"
        yield _exchange("prepare", step, kubelet, bool(errors))
        if errors:
            return
        yield _mig(machine.gpus)
        yield _cdi(options.cdi_dir)
        kubelet.exchanges.clear()
        kubelet.unprepare(endpoint, claims)
        yield _unprepare(kubelet, _cut(machine) - before, options)


def _store(folder: Path, asked: Asked, answer: Allocation) -> Iterator[AllocatedClaim]:
    """Store the claims with their allocation, as an API server would; yield them as read back."""
    folder.mkdir(parents=True)
    for index, (written, claim) in enumerate(zip(asked.written, asked.claims, strict=True)):
        stored = {**written, "status": claim_status(answer, claim.ref)}
        (folder / f"{index:02d}.yaml").write_text(yaml_text([stored]), encoding="utf-8")
        read = decode_allocated_claim(stored)
        assert read is not None
        yield read


def _exchange(name: str, made_by: str, kubelet: Kubelet, is_end: bool) -> Station:
    value = plain(kubelet.exchanges)
    return Station(name, made_by, conversation(kubelet.exchanges), value, is_end=is_end)


def _mig(gpus: GpuReader) -> Station:
    found = list(_instances(gpus))
    rows = list[Sequence[str]]()
    for gpu, instance in found:
        for compute in instance.compute_instances:
            name = _profiles(gpus, gpu).get(instance.profile_id, str(instance.profile_id))
            if compute.place is not None:
                name = f"{compute.place.size}c.{name}"
            ids = (str(gpu.minor), str(instance.gi_id), str(compute.ci_id))
            rows.append((*ids, name, memory_slice_range(instance.placement), compute.uuid))
    table = FittingTable([Column(head) for head in _MIG_HEADS], rows)
    picture = table if found else Text("no GPU instance: whole devices need none", style="dim")
    value = [{"gpu": plain(gpu.uuid), **plain(instance)} for gpu, instance in found]
    return Station(
        "mig", "plugin.kinds.mig_partition: create GPU instance, create compute instance", picture, value
    )


def _instances(gpus: GpuReader) -> Iterator[tuple[Gpu, GpuInstance]]:
    for gpu in _readable(gpus):
        if gpu.mig is not None:
            yield from ((gpu, instance) for instance in gpus.gpu_instances(gpu.uuid))


def _readable(gpus: GpuReader) -> Iterator[Gpu]:
    """Yield the GPUs that can be read; none where the driver is missing."""
    try:
        yield from (gpu for gpu in gpus.gpus() if isinstance(gpu, Gpu))
    except DriverMissing:
        return


def _profiles(gpus: GpuReader, gpu: Gpu) -> Mapping[int, str]:
    return {profile.profile_id: profile.name for profile in gpus.profiles(gpu.uuid)}


def _cdi(folder: Path) -> Station:
    documents = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.iterdir())}
    return Station("cdi", "plugin.cdi.document.claim_document", cdi_picture(documents), documents)


def _cut(machine: Machine) -> Counter[str]:
    """Count what preparing changes on the machine."""
    gpus, daemons = machine.gpus, len(machine.mps.names())
    in_mode = sum(gpu.mig is not None and gpu.mig.current for gpu in _readable(gpus))
    instances = len(list(_instances(gpus)))
    return Counter({"GPU instance": instances, "GPU in MIG mode": in_mode, "MPS daemon": daemons})


def _unprepare(kubelet: Kubelet, cut: Counter[str], options: Options) -> Station:
    """Show the call that undoes all, and count what is left. Shape: ``cut`` more than there was before."""
    left = {
        "GPU instance": cut["GPU instance"],
        "GPU in MIG mode": cut["GPU in MIG mode"],
        "MPS daemon": cut["MPS daemon"],
        "CDI document": _count(options.cdi_dir),
        "record": _count(options.claims_dir),
    }
    told = ", ".join(counted(count, noun, _PLURALS.get(noun, "")) for noun, count in left.items())
    picture = Group(conversation(kubelet.exchanges), Text(f"left behind: {told}", style="bold green"))
    value = {"exchanges": plain(kubelet.exchanges), "left": left}
    return Station("unprepare", "plugin.kubelet.dra_grpc.DraV1.NodeUnprepareResources", picture, value)


def _count(folder: Path) -> int:
    return len(list(folder.iterdir()))
