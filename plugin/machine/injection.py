"""What containers need of a claim's devices, gathered from the machine once per claim.

Claimed devices and the driver's files enter, the parts of a CDI document leave, with paths as the host names
them. Nothing is made here. A device node that is missing and cannot be made from its numbers is refused
before a container fails on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agent.hardware.ports import Machine
from agent.hardware.types import DeviceNode, GpuUuid, HostFile
from plugin.base.errors import NotReady
from plugin.cdi import names
from plugin.cdi.document import Injection
from plugin.machine.claimed_device import (
    ClaimedDevice,
    ClaimedGpu,
    ClaimedGpuPartition,
    ClaimedMigPartition,
)
from scheduler_core.model.claim import ClaimUid

_ROOT: Final = Path("/")


def injections(
    machine: Machine, uid: ClaimUid, devices: Sequence[ClaimedDevice], host_root: Path
) -> tuple[Injection, ...]:
    """Return what each device of a claim brings into a container.

    Shape: nodes that every consumer needs, the GPUs', then those of the instance; ``host_root`` is where the
           host's files are seen from here.
    Raises: HardwareError; NotReady where a node is missing.
    """
    facts = _Facts.of(machine, {gpu for device in devices for gpu in device.gpus}, host_root)
    return tuple(_injection(machine, uid, device, facts, host_root) for device in devices)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What the devices of a claim share. Shape: nodes and files as the host names them, and checked."""

    control_nodes: tuple[DeviceNode, ...]
    minors: Mapping[GpuUuid, int]
    gpu_nodes: Mapping[GpuUuid, tuple[DeviceNode, ...]]
    files: tuple[HostFile, ...]

    @classmethod
    def of(cls, machine: Machine, gpus: Iterable[GpuUuid], host_root: Path) -> _Facts:
        files = machine.files
        # Asked for now: a driver that was loaded anew may have numbered its GPUs anew since they were listed.
        minors = {gpu: machine.gpus.minor(gpu) for gpu in sorted(gpus)}
        control_nodes = _usable(files.control_nodes(), host_root)
        gpu_nodes = {gpu: _usable(files.gpu_nodes(minor), host_root) for gpu, minor in minors.items()}
        libraries = files.libraries(machine.gpus.versions().driver)
        for host_path, path in {file.host_path: file.path for file in libraries}.items():
            _refuse_missing(path, host_path)
        return cls(
            control_nodes, minors, gpu_nodes, tuple(_file_on_host(one, host_root) for one in libraries)
        )


def _injection(
    machine: Machine, uid: ClaimUid, device: ClaimedDevice, facts: _Facts, host_root: Path
) -> Injection:
    of_gpus = [node for gpu in device.gpus for node in facts.gpu_nodes[gpu]]
    of_instance = _usable(_instance_nodes(machine, device, facts), host_root)
    return Injection(
        name=names.device_name(uid, device.device),
        device=device.device,
        identity=device.identity,
        nodes=(*facts.control_nodes, *of_gpus, *of_instance),
        files=facts.files,
    )


def _instance_nodes(machine: Machine, device: ClaimedDevice, facts: _Facts) -> tuple[DeviceNode, ...]:
    match device:
        case ClaimedGpu() | ClaimedGpuPartition():
            return ()
        case ClaimedMigPartition(gpu=gpu, gi_id=int(gi_id), ci_id=int(ci_id)):
            return machine.files.instance_nodes(facts.minors[gpu], gi_id, ci_id)
        case ClaimedMigPartition():
            raise NotReady("use", f"device {device.device}", "its instance is not known yet")


def _usable(nodes: Sequence[DeviceNode], host_root: Path) -> tuple[DeviceNode, ...]:
    """Return nodes as the host names them. Raises: NotReady for one that is missing."""
    for node in nodes:
        _refuse_unmakeable(node)
    return tuple(_node_on_host(node, host_root) for node in nodes)


def _refuse_unmakeable(node: DeviceNode) -> None:
    if node.host_path is not None:
        _refuse_missing(node.path, node.host_path)
    elif node.major is None or node.minor is None:
        raise NotReady(
            "give containers", f"device node {node.path}", "it does not exist and its numbers are unknown"
        )


def _refuse_missing(path: str, host_path: Path) -> None:
    if not host_path.exists():
        raise NotReady("give containers", path, f"{host_path} does not exist")


def _node_on_host(node: DeviceNode, host_root: Path) -> DeviceNode:
    if node.host_path is None or not _has_other_name(node.host_path, host_root):
        return node
    return replace(node, host_path=_on_host(node.host_path, host_root))


def _file_on_host(file: HostFile, host_root: Path) -> HostFile:
    if not _has_other_name(file.host_path, host_root):
        return file
    return replace(file, host_path=_on_host(file.host_path, host_root))


def _has_other_name(path: Path, host_root: Path) -> bool:
    return host_root != _ROOT and path.is_relative_to(host_root)


def _on_host(path: Path, host_root: Path) -> Path:
    """Return what the host calls a file that is seen here at ``path``."""
    return _ROOT / path.relative_to(host_root)
