"""Describes a machine as a node file, from which a simulated machine can be made.

Takes readers of GPUs and of the PCIe tree, and changes nothing. What a node file cannot say (a GPU without a
shipped model, a card of another vendor, a function without a root port) is left out, with a sentence.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from agent.hardware import attributes
from agent.hardware.errors import HardwareError
from agent.hardware.pcie import Chain
from agent.hardware.ports import GpuReader
from agent.hardware.simulated.gpu_models import GpuModel, gpu_models, load_model
from agent.hardware.simulated.nic_models import nic_models
from agent.hardware.simulated.tree import shifted
from agent.hardware.types import MIB, Bdf, Gpu, MigProfile, PciFunction, PhysicalFunction, Unreadable

Document = dict[str, Any]


class Tree(Protocol):
    """The PCIe tree of a machine, with the files that the kernel shows of it."""

    @property
    def root(self) -> Path:
        """Return the folder that has ``sys``."""
        ...

    def nics(self) -> tuple[PhysicalFunction | Unreadable, ...]:
        """Return the NICs."""
        ...

    def function(self, bdf: Bdf) -> PciFunction:
        """Return a function. Raises: HardwareError."""
        ...

    def chain(self, bdf: Bdf) -> Chain:
        """Return what leads to a function. Raises: HardwareError."""
        ...


class Recorder:
    """One machine on its way into a document. Shape: ``left_out`` a sentence for each thing not told."""

    def __init__(self, sysfs: Tree) -> None:
        self.sysfs = sysfs
        self.memory: Document = {}
        self.left_out: list[str] = []
        self._complexes: Document = {}

    def record(self, name: str, gpus: GpuReader | None) -> Document:
        """Return the machine as a node file's document. Raises: HardwareError."""
        found = self._gpus(gpus) if gpus else []
        for nic in self.sysfs.nics():
            self._add_nic(nic)
        versions = gpus.versions() if gpus else None
        return {
            "name": name,
            "summary": f"recorded from {platform.node() or 'a machine'}",
            "topology": "read from the machine",
            "driver": {"version": versions.driver, "cuda": versions.cuda} if versions else None,
            "passthrough": any(gpu.is_passthrough for gpu in found),
            "memory": self.memory,
            "numa": list(numa_nodes(self.sysfs.root)),
            "pci": [self._complexes[key] for key in sorted(self._complexes)],
        }

    def _gpus(self, reader: GpuReader) -> list[Gpu]:
        found = []
        for gpu in reader.gpus():
            if isinstance(gpu, Unreadable):
                self.left_out.append(f"{gpu.what}: {gpu.reason}")
                continue
            self._add_gpu(gpu, reader)
            found.append(gpu)
        return found

    def _add_gpu(self, gpu: Gpu, reader: GpuReader) -> None:
        model = model_of(gpu)
        if model is None:
            self.left_out.append(f"GPU {gpu.bdf}: no shipped model is a {gpu.product_name}")
            return
        profiles = reader.profiles(gpu.uuid)
        names = {profile.profile_id: profile.name for profile in profiles}
        form = {"kind": "gpu", "bdf": gpu.bdf, "model": model.name, "minor": gpu.minor, "uuid": gpu.uuid}
        if gpu.module_id is not None:
            form["module"] = gpu.module_id
        if gpu.mig and gpu.mig.current:
            form["mig"] = True
            form["instances"] = [
                {"profile": names[instance.profile_id], "start": instance.placement.start}
                for instance in reader.gpu_instances(gpu.uuid)
                if instance.compute_instances
            ]
        self._hang(gpu.bdf, form)
        self._compare(model, gpu, profiles)

    def _compare(self, model: GpuModel, gpu: Gpu, profiles: tuple[MigProfile, ...]) -> None:
        """Keep the figures that this driver reports differently, and say what else differs."""
        override: Document = {}
        if gpu.multiprocessors is not None and gpu.multiprocessors != model.multiprocessors:
            override["multiprocessors"] = gpu.multiprocessors
        if gpu.memory_bytes is not None and gpu.memory_bytes != model.memory_bytes:
            override["total_mib"] = gpu.memory_bytes // MIB
        shipped = {profile.name: profile for profile in model.profiles}
        sizes = {
            profile.name: profile.memory_bytes // MIB
            for profile in profiles
            if profile.name in shipped and profile.memory_bytes != shipped[profile.name].memory_bytes
        }
        override |= {"profiles_mib": sizes} if sizes else {}
        if override:
            self.memory[model.name] = override
        for name in sorted({profile.name for profile in profiles} ^ set(shipped)):
            self.left_out.append(f"GPU {gpu.bdf}: profile {name} is only on one side of model {model.name}")

    def _add_nic(self, nic: PhysicalFunction | Unreadable) -> None:
        if isinstance(nic, Unreadable):
            self.left_out.append(f"{nic.what}: {nic.reason}")
            return
        function = nic.function
        ids = (function.vendor_id, function.device_id)
        models = [m.name for m in nic_models().values() if (m.vendor_id, m.pf_device_id) == ids]
        link = nic.link_type or ("unspecified" if nic.rdma_device else None)
        if not models or link is None:
            self.left_out.append(f"NIC {function.bdf}: {':'.join(ids)} with link type {nic.link_type}")
            return
        form: Document = {"kind": "nic", "bdf": function.bdf, "model": models[0], "link": link}
        form |= {"vfs": len(nic.vfs), "total_vfs": nic.total_vfs}
        first_vf = self._first_vf(nic)
        form |= {"first_vf": first_vf} if first_vf else {}
        self._hang(function.bdf, form)

    def _first_vf(self, nic: PhysicalFunction) -> Bdf | None:
        """Return the address of VF 0; while it is not enabled, where the card says that it would be."""
        if nic.vfs:
            return nic.vfs[0].function.bdf
        pf = nic.function.bdf
        offset = attributes.number(self.sysfs.root / "sys/bus/pci/devices" / pf / "sriov_offset")
        return shifted(pf, offset) if nic.total_vfs and offset else None

    def _hang(self, bdf: Bdf, form: Document) -> None:
        """Hang a function below its bridges: a root port, then pairs of a switch's ports; or on the root."""
        try:
            chain, node = self.sysfs.chain(bdf), self.sysfs.function(bdf).numa_node
        except HardwareError as error:
            self.left_out.append(f"{form['kind']} {bdf}: {error}")
            return
        root, bridges = chain.root_complex, chain.bridges
        if root is None or (bridges and len(bridges) % 2 == 0):
            above = " > ".join((root or "no root complex", *bridges))
            self.left_out.append(f"{form['kind']} {bdf}: a node file cannot tell what is above it, {above}")
            return
        entry = self._complexes.setdefault(root, {"root_complex": root, "numa_node": node})
        if chain.under:
            entry["under"] = chain.under
        if not bridges:
            entry.setdefault("below", []).append(form)
            return
        port = _member(entry.setdefault("root_ports", []), "port", bridges[0], {"below": []})
        for upstream, downstream in zip(bridges[1::2], bridges[2::2], strict=True):
            switch = _member(port["below"], "upstream", upstream, {"kind": "switch", "downstream": []})
            port = _member(switch["downstream"], "port", downstream, {"below": []})
        port["below"].append(form)


def model_of(gpu: Gpu) -> GpuModel | None:
    """Return the shipped model of this product; of several, the one with the nearest memory."""
    models = (load_model(name) for name in gpu_models())
    alike = [model for model in models if model.product_name == gpu.product_name]
    return min(
        alike, key=lambda model: abs((model.memory_bytes or 0) - (gpu.memory_bytes or 0)), default=None
    )


def numa_nodes(root: Path) -> Iterator[Document]:
    """Yield the NUMA nodes with their CPUs, sockets and distances."""
    folder = root / "sys/devices/system/node"
    numbers = (name.removeprefix("node") for name in attributes.names(folder) if name.startswith("node"))
    for number in sorted(int(digits) for digits in numbers if digits.isdigit()):
        node = folder / f"node{number}"
        cpus = attributes.text(node / "cpulist") or ""
        first = cpus.partition(",")[0].partition("-")[0]
        package = root / f"sys/devices/system/cpu/cpu{first}/topology/physical_package_id"
        distances = [int(word) for word in (attributes.text(node / "distance") or "").split()]
        yield {
            "node": number,
            "socket": attributes.number(package) or 0,
            "cpus": cpus,
            "distances": distances,
        }


def _member(members: list[Document], key: str, value: str, rest: Document) -> Document:
    """Return the member with this address, added where it was not there."""
    for member in members:
        if member.get(key) == value:
            return member
    members.append({key: value} | rest)
    return members[-1]
