"""The device nodes of an installed NVIDIA driver.

Takes a root folder, as this process sees it. This module creates nothing: a device node that does not exist
is described by its numbers, and the container runtime creates it. Numbers come from ``/proc`` each time,
since a driver that is loaded anew may have others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from agent.hardware import attributes
from agent.hardware.errors import NotFound
from agent.hardware.types import Bdf, DeviceNode

_CONTROL: Final = "/dev/nvidiactl"
_MODESET: Final = "/dev/nvidia-modeset"
_UNIFIED_MEMORY: Final = (("/dev/nvidia-uvm", 0), ("/dev/nvidia-uvm-tools", 1))
"""Nodes and their minors. Source: nvidia-modprobe, ``nvidia_uvm_mknod``."""
_CAPABILITIES: Final = "/proc/driver/nvidia/capabilities"
_DEVICES: Final = "/proc/devices"
_MONITOR: Final = "mig/monitor"
_CAPABILITY_MAJOR: Final = re.compile(r"^\s*(\d+)\s+nvidia-caps$", re.MULTILINE)
_IMEX_MAJOR: Final = re.compile(r"^\s*(\d+)\s+nvidia-caps-imex-channels$", re.MULTILINE)
_UNIFIED_MEMORY_MAJOR: Final = re.compile(r"^\s*(\d+)\s+nvidia-uvm$", re.MULTILINE)
_DRM_NODE: Final = re.compile(r"(?:card|renderD)\d+")
_CAPABILITY_MINOR: Final = re.compile(r"^DeviceFileMinor:\s*(\d+)$", re.MULTILINE)

_MAKE_NODES: Final = "the operator must load the driver and let nvidia-modprobe create its device nodes"
_SHOW_PROC: Final = "the operator must make the driver's part of /proc visible to this process"
_MAKE_CHANNELS: Final = "the operator must load the driver with IMEX channels (NVreg_ImexChannelCount)"
_LOAD_UNIFIED_MEMORY: Final = (
    "no CUDA program can run without it; the operator must load the driver's module nvidia-uvm"
)


@dataclass(frozen=True, slots=True)
class DriverNodes:
    """The device nodes of a driver installed below ``root``.

    Shape: ``host_root`` is where the host's own ``/`` is mounted, None if ``root`` has ``/dev`` and ``/proc``
           too.
    """

    root: Path = Path("/")
    host_root: Path | None = None

    def gpu_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the node of a whole GPU. Raises: NotFound."""
        return (self._required_node(f"/dev/nvidia{minor}"),)

    def control_nodes(self) -> tuple[DeviceNode, ...]:
        """Return ``/dev/nvidiactl``, and ``/dev/nvidia-modeset`` where it exists.

        Raises: NotFound without ``nvidiactl``.
        """
        modeset = self._node(_MODESET)
        return (self._required_node(_CONTROL), *((modeset,) if modeset else ()))

    def compute_nodes(self) -> tuple[DeviceNode, ...]:
        """Return the nodes of uvm and uvm-tools, without which no CUDA program runs.

        The host need not have them: they are known by their numbers.
        Raises: NotFound where the host has neither a node nor its number.
        """
        major = self._major(_UNIFIED_MEMORY_MAJOR)
        return tuple(self._unified_memory(path, major, minor) for path, minor in _UNIFIED_MEMORY)

    def graphics_nodes(self, bdf: Bdf) -> tuple[DeviceNode, ...]:
        """Return the DRM nodes of a GPU, none where its driver has none for graphics."""
        names = attributes.names(self._proc(f"/sys/bus/pci/devices/{bdf}/drm"))
        nodes = (self._node(f"/dev/dri/{name}") for name in names if _DRM_NODE.fullmatch(name))
        return tuple(node for node in nodes if node)

    def instance_nodes(self, minor: int, gi_id: int, ci_id: int) -> tuple[DeviceNode, DeviceNode]:
        """Return the capability nodes of a GI and of its CI.

        Their numbers come from files that exist as long as the instance.
        Raises: NotFound.
        """
        instance = f"gpu{minor}/mig/gi{gi_id}"
        return self._capability(f"{instance}/access"), self._capability(f"{instance}/ci{ci_id}/access")

    def shows_instance(self, minor: int, gi_id: int, ci_id: int) -> bool:
        """Whether the kernel shows the capability of a CI now."""
        root = self.host_root or self.root
        return attributes.exists(f"{root}{_CAPABILITIES}/gpu{minor}/mig/gi{gi_id}/ci{ci_id}/access")

    def monitoring_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the capability node of a monitor and those of a GPU's present MIG instances, by number."""
        folder = f"gpu{minor}/mig"
        names = [_MONITOR, *(f"{folder}/{name}" for name in self._instance_capabilities(folder))]
        minors = ((name, self._capability_minor(name)) for name in names)
        return tuple(
            DeviceNode(_capability_path(found), None, self._capability_major(f"capability {name}"), found)
            for name, found in minors
            if found is not None
        )

    def has_imex_channels(self) -> bool:
        """Whether the driver has IMEX channels."""
        return self._major(_IMEX_MAJOR) is not None

    def imex_channel_node(self, channel: int) -> DeviceNode:
        """Return the node of an IMEX channel. The host need not have it: it is known by its numbers.

        Raises: NotFound where the driver has no channels.
        """
        major = self._major(_IMEX_MAJOR)
        if major is None:
            reason = f"{self._proc(_DEVICES)} has no nvidia-caps-imex-channels"
            raise NotFound("find major number", f"IMEX channel {channel}", reason, _MAKE_CHANNELS)
        return DeviceNode(f"/dev/nvidia-caps-imex-channels/channel{channel}", None, major, channel)

    def _below(self, path: str) -> Path:
        return joined(self.root, path)

    def _dev(self, path: str) -> Path:
        if self.host_root is not None and not attributes.exists(self._below(_CONTROL)):
            return joined(self.host_root, path)
        return self._below(path)

    def _proc(self, path: str) -> Path:
        return joined(self.host_root or self.root, path)

    def _node(self, path: str) -> DeviceNode | None:
        here = self._dev(path)
        return DeviceNode(path, here) if attributes.exists(here) else None

    def _required_node(self, path: str) -> DeviceNode:
        node = self._node(path)
        if node is None:
            raise NotFound("find device node", path, f"there is no {self._dev(path)}", _MAKE_NODES)
        return node

    def _unified_memory(self, path: str, major: int | None, minor: int) -> DeviceNode:
        """Return a node by its numbers, unless the host has one with others.

        So the answer stays the same when nvidia-modprobe makes the node later.
        """
        node = self._node(path)
        if node is not None and (major is None or _numbers(node.host_path) != (major, minor)):
            return node
        if major is None:
            reason = f"there is no {self._dev(path)}, and {self._proc(_DEVICES)} has no nvidia-uvm"
            raise NotFound("find device node", path, reason, _LOAD_UNIFIED_MEMORY)
        return DeviceNode(path, None, major, minor)

    def _capability(self, name: str) -> DeviceNode:
        subject = f"capability {name}"
        minor = self._capability_minor(name)
        if minor is None:
            file = self._proc(f"{_CAPABILITIES}/{name}")
            raise NotFound("read DeviceFileMinor", subject, f"{file} has no such number", _SHOW_PROC)
        path = _capability_path(minor)
        return self._node(path) or DeviceNode(path, None, self._capability_major(subject), minor)

    def _capability_minor(self, name: str) -> int | None:
        """Return the number of a capability's node, None where there is no such capability (any more)."""
        found = _CAPABILITY_MINOR.search(attributes.text(self._proc(f"{_CAPABILITIES}/{name}")) or "")
        return None if found is None else int(found[1])

    def _instance_capabilities(self, folder: str) -> Iterator[str]:
        """Yield the capabilities of the GIs and CIs below a GPU's folder."""
        below = self._proc(f"{_CAPABILITIES}/{folder}")
        for gi in (name for name in attributes.names(below) if name.startswith("gi")):
            yield f"{gi}/access"
            inside = attributes.names(below / gi)
            yield from (f"{gi}/{name}/access" for name in inside if name.startswith("ci"))

    def _capability_major(self, subject: str) -> int:
        major = self._major(_CAPABILITY_MAJOR)
        if major is None:
            reason = f"{self._proc(_DEVICES)} has no nvidia-caps"
            raise NotFound("find major number", subject, reason, _SHOW_PROC)
        return major

    def _major(self, name: re.Pattern[str]) -> int | None:
        """Return the major number of a kind of character devices, None where there is no such kind."""
        characters, _, _ = (attributes.text(self._proc(_DEVICES)) or "").partition("Block devices:")
        found = name.search(characters)
        return None if found is None else int(found[1])


def _capability_path(minor: int) -> str:
    return f"/dev/nvidia-caps/nvidia-cap{minor}"


@lru_cache(maxsize=512)  # those of all instances of a node: making a path takes longer than asking for it
def joined(root: Path, path: str) -> Path:
    """Return an absolute path as it is below a root."""
    return root / path.removeprefix("/")


def _numbers(node: Path | None) -> tuple[int, int] | None:
    """Return the numbers of a device node, None where there is none, or it has gone."""
    if node is None:
        return None
    try:
        numbers = os.stat(node).st_rdev
    except OSError:
        return None
    return os.major(numbers), os.minor(numbers)
