"""Renders the NVIDIA driver's part of a tree: /proc/driver/nvidia, device nodes, libraries.

Takes GPUs and their instances; files are created and removed. Capability minors are those of the driver's
fixed table. Source: NVIDIA MIG User Guide, "Device Nodes and Capabilities".
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from agent.hardware.fabric.configuration import FILE
from agent.hardware.simulated import mps_control
from agent.hardware.simulated.checks import LAST_MINOR
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.files import Files
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.rules import compute_ids
from agent.hardware.simulated.state import InstanceState

_CONFIG_MINOR, _MONITOR_MINOR, _FIRST_MINOR = 1, 2, 3
_GPU_INSTANCES, _COMPUTE_INSTANCES = 15, 8
_OWNER_READS, _ALL_READ = 0o400, 0o444
_CONTROL_NODES: Final = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")
_CHARACTER_DEVICES: Final = (
    (1, "mem"),
    (10, "misc"),
    (195, "nvidia"),
    (195, "nvidia-modeset"),
    (195, "nvidiactl"),
    (231, "infiniband_verbs"),
    (510, "nvidia-uvm"),
    (511, "nvidia-caps"),
    (512, "nvidia-caps-imex-channels"),
)
_FIRST_RENDER_NODE: Final = 128
_FABRIC_MODES: Final = {"shared-nvswitch": 1, "vgpu": 2}
_LIBRARIES: Final = "usr/lib/x86_64-linux-gnu"
_CAPABILITIES: Final = "proc/driver/nvidia/capabilities"
_INSTANCE: Final = re.compile(r"gi(\d+)")
_COMPUTE_INSTANCE: Final = re.compile(r"ci(\d+)")


def capability_minor(gpu_minor: int, gi_id: int, ci_id: int | None = None) -> int:
    """Return the minor of the capability of a GI, or of one of its CIs."""
    per_instance = 1 + _COMPUTE_INSTANCES
    of_instance = _FIRST_MINOR + (_GPU_INSTANCES * gpu_minor + gi_id) * per_instance
    return of_instance if ci_id is None else of_instance + 1 + ci_id


def render_driver(files: Files, node: NodeFile) -> None:
    """Create the files of a loaded driver; without a driver only ``/proc/devices``."""
    driver = node.document.driver
    lines = (f"{major:3} {name}\n" for major, name in _CHARACTER_DEVICES if driver or "nvidia" not in name)
    files.write("proc/devices", f"Character devices:\n{''.join(lines)}\nBlock devices:\n")
    if driver is None:
        return
    version = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver.version}  (simulated)\n"
    files.write("proc/driver/nvidia/version", version)
    files.write("proc/driver/nvidia-caps/mig-minors", _minors())
    _capability(files, f"{_CAPABILITIES}/mig/config", _CONFIG_MINOR, _OWNER_READS)
    _capability(files, f"{_CAPABILITIES}/mig/monitor", _MONITOR_MINOR, _ALL_READ)
    for name in (*_CONTROL_NODES, *(f"nvidia{card.minor}" for card in node.cards)):
        files.character_device(f"dev/{name}")
    for card in node.cards:
        _graphics(files, card)
    for library in ("libcuda.so", "libnvidia-ml.so"):
        files.write(f"{_LIBRARIES}/{library}.{driver.version}", f"simulated {library} {driver.version}\n")
        files.link(f"{_LIBRARIES}/{library}.1", f"{_LIBRARIES}/{library}.{driver.version}")
    if node.document.fabric is not None:
        files.write(FILE, f"FABRIC_MODE={_FABRIC_MODES[node.document.fabric.mode]}\n")
        files.write(f"{_LIBRARIES}/libnvfm.so.1", "simulated libnvfm.so.1\n")
    files.program("usr/bin/nvidia-smi", f"#!/bin/sh\necho 'simulated NVIDIA driver {driver.version}'\n")
    files.program("usr/bin/nvidia-cuda-mps-control", _mps_program())


def render_instances(files: Files, card: Card, instances: tuple[InstanceState, ...]) -> None:
    """Create the capabilities of exactly these instances of one GPU."""
    if not card.model.is_mig_capable:
        return
    folder = f"{_CAPABILITIES}/gpu{card.minor}/mig"
    files.folder(folder)
    wanted = {instance.gi_id for instance in instances}
    for name in files.names(folder):
        match = _INSTANCE.fullmatch(name)
        if match and int(match[1]) not in wanted:
            _remove_compute_instances(files, card, int(match[1]), range(_COMPUTE_INSTANCES))
            _forget(files, f"{folder}/{name}", capability_minor(card.minor, int(match[1])))
    for instance in instances:
        _make_instance(files, card, instance)


def follow_instances(
    files: Files, card: Card, before: tuple[InstanceState, ...], after: tuple[InstanceState, ...]
) -> None:
    """Change the capabilities from ``before`` to ``after``; only differences are written."""
    left = {instance.gi_id for instance in after}
    for instance in before:
        if instance.gi_id not in left:
            _remove_compute_instances(files, card, instance.gi_id, compute_ids(instance))
            _forget(files, _folder(card, instance.gi_id), capability_minor(card.minor, instance.gi_id))
    for instance in after:
        if instance not in before:
            _make_instance(files, card, instance)


def _make_instance(files: Files, card: Card, instance: InstanceState) -> None:
    gi_id = instance.gi_id
    folder = _folder(card, gi_id)
    _capability(files, f"{folder}/access", capability_minor(card.minor, gi_id), _ALL_READ)
    wanted = compute_ids(instance)
    present = (_COMPUTE_INSTANCE.fullmatch(name) for name in files.names(folder))
    gone = {int(match[1]) for match in present if match} - set(wanted)
    _remove_compute_instances(files, card, gi_id, sorted(gone))
    for ci_id in wanted:
        minor = capability_minor(card.minor, gi_id, ci_id)
        _capability(files, f"{folder}/ci{ci_id}/access", minor, _ALL_READ)


def _folder(card: Card, gi_id: int) -> str:
    return f"{_CAPABILITIES}/gpu{card.minor}/mig/gi{gi_id}"


def _remove_compute_instances(files: Files, card: Card, gi_id: int, ci_ids: Iterable[int]) -> None:
    for ci_id in ci_ids:
        folder = f"{_folder(card, gi_id)}/ci{ci_id}"
        _forget(files, folder, capability_minor(card.minor, gi_id, ci_id))


def _graphics(files: Files, card: Card) -> None:
    """Create what nvidia-drm makes for a GPU. The first card of a server is its management controller's."""
    for name in (f"card{card.minor + 1}", f"renderD{_FIRST_RENDER_NODE + card.minor}"):
        files.folder(f"{card.site.folder}/drm/{name}")
        files.character_device(f"dev/dri/{name}")


def _capability(files: Files, path: str, minor: int, mode: int) -> None:
    files.character_device(f"dev/nvidia-caps/nvidia-cap{minor}")
    files.write(path, f"DeviceFileMinor: {minor}\nDeviceFileMode: {mode}\nDeviceFileModify: 1\n")


def _forget(files: Files, folder: str, minor: int) -> None:
    files.remove(f"dev/nvidia-caps/nvidia-cap{minor}")
    files.remove(folder)


@cache
def _mps_program() -> str:
    """Return the program, which needs nothing but the Python that runs this."""
    return f"#!{sys.executable} -IS\n{Path(mps_control.__file__).read_text()}"


@cache
def _minors() -> str:
    lines = [f"config {_CONFIG_MINOR}", f"monitor {_MONITOR_MINOR}"]
    for gpu in range(LAST_MINOR + 1):
        for gi_id in range(_GPU_INSTANCES):
            lines.append(f"gpu{gpu}/gi{gi_id}/access {capability_minor(gpu, gi_id)}")
            lines.extend(
                f"gpu{gpu}/gi{gi_id}/ci{ci_id}/access {capability_minor(gpu, gi_id, ci_id)}"
                for ci_id in range(_COMPUTE_INSTANCES)
            )
    return "\n".join(lines) + "\n"
