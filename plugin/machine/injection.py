"""What a container needs of each prepared device, gathered from the machine.

A record and the driver's files enter, the parts of a CDI document leave, with paths as the host names
them. Nothing is made here; a node that is neither there nor can be made from its numbers is refused before
a container finds out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from agent.hardware.ports import Machine
from agent.hardware.types import DeviceNode, HostFile
from plugin.base.errors import NotReady
from plugin.cdi.document import Injection
from plugin.claim.plan import cdi_device_name
from plugin.claim.record import HeldDevice, HeldGpu, HeldGpus, HeldPartition
from plugin.machine import mig
from scheduler_core.model.claim import ClaimUid

_ROOT: Final = Path("/")


def injection(machine: Machine, uid: ClaimUid, held: HeldDevice, *, host_root: Path) -> Injection:
    """Return what ``held`` brings into a container.

    Shape: nodes that every consumer needs, the GPUs', then those of the instance; ``host_root`` is where the
           host's files are seen from here.
    Raises: HardwareError; NotReady where a node is missing.
    """
    files = machine.files
    # Asked for now: a driver that was loaded anew may have numbered its GPUs anew since they were listed.
    minors = [machine.gpus.minor(gpu) for gpu in held.gpus]
    of_gpus = [node for minor in minors for node in files.gpu_nodes(minor)]
    nodes = (*files.control_nodes(), *of_gpus, *_instance_nodes(machine, minors[0], held))
    libraries = files.libraries(machine.gpus.versions().driver)
    for node in nodes:
        _refuse_unmakeable(node)
    for host_path, path in {file.host_path: file.path for file in libraries}.items():
        _refuse_missing(path, host_path)
    return Injection(
        name=cdi_device_name(uid, held.device),
        device=held.device,
        identity=_identity(held),
        nodes=tuple(_node_on_host(node, host_root) for node in nodes),
        files=tuple(_file_on_host(file, host_root) for file in libraries),
    )


def refuse_dead(machine: Machine, held: HeldDevice) -> None:
    """Check that the instance of a device is alive, by its UUID. Raises: NotReady."""
    if isinstance(held, HeldPartition) and not mig.is_alive(machine.gpus, held):
        raise NotReady("use", f"device {held.device}", f"there is no MIG device {held.mig_uuid}")


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


def _instance_nodes(machine: Machine, minor: int, held: HeldDevice) -> tuple[DeviceNode, ...]:
    match held:
        case HeldGpu() | HeldGpus():
            return ()
        case HeldPartition(gi_id=int(gi_id), ci_id=int(ci_id)):
            return machine.files.instance_nodes(minor, gi_id, ci_id)
        case HeldPartition():
            raise NotReady("use", f"device {held.device}", "its instance is not known yet")


def _identity(held: HeldDevice) -> str:
    match held:
        case HeldGpu() | HeldGpus():
            return ",".join(held.gpus)
        case HeldPartition():
            return str(held.mig_uuid)


def _refuse_unmakeable(node: DeviceNode) -> None:
    if node.host_path is not None:
        _refuse_missing(node.path, node.host_path)
    elif node.major is None or node.minor is None:
        raise NotReady("hand on", f"device node {node.path}", "it is not there and its numbers are unknown")


def _refuse_missing(path: str, host_path: Path) -> None:
    if not host_path.exists():
        raise NotReady("hand on", path, f"{host_path} is not there")
