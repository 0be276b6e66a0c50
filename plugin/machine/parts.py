"""What a container gets of one device: nodes and files, as the host names them.

Takes what the machine's ports found; with paths as this process sees them. Nothing is made here. A device
node that is missing and cannot be made from its numbers is refused before a container fails on it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from agent.hardware.types import DeviceNode, HostFile
from plugin.base.errors import NotReady

_ROOT: Final = Path("/")


@dataclass(frozen=True, slots=True)
class SharedParts:
    """What all devices of a claim that are GPUs need beside their own parts, as the host names it."""

    nodes: tuple[DeviceNode, ...] = ()
    files: tuple[HostFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """What a container gets of one device, as the host names it.

    Shape: ``told`` are names and values; the container's variables are the device's with ``_NAME`` behind it;
           ``folders`` are those that programs write to; ``variables`` have the name that programs know;
           ``joins_pod`` whether something of it is brought into the pod's namespaces when a container starts;
           ``shared`` what other devices of the claim need in the same way.
    """

    nodes: tuple[DeviceNode, ...] = ()
    files: tuple[HostFile, ...] = ()
    told: tuple[tuple[str, str], ...] = ()
    folders: tuple[HostFile, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    joins_pod: bool = False
    shared: SharedParts = SharedParts()


def usable_nodes(nodes: Sequence[DeviceNode], host_root: Path) -> tuple[DeviceNode, ...]:
    """Return nodes as the host names them. Raises: NotReady for one that is missing."""
    for node in nodes:
        _refuse_unmakeable(node)
    return tuple(_node_on_host(node, host_root) for node in nodes)


def usable_files(files: Sequence[HostFile], host_root: Path) -> tuple[HostFile, ...]:
    """Return files as the host names them. Raises: NotReady for one that is missing."""
    for file in {str(file.host_path): file for file in files}.values():
        _refuse_missing(file.path, file.host_path)
    if host_root == _ROOT:
        return tuple(files)
    return tuple(_file_on_host(one, host_root) for one in files)


def _refuse_unmakeable(node: DeviceNode) -> None:
    if node.host_path is not None:
        _refuse_missing(node.path, node.host_path)
    elif node.major is None or node.minor is None:
        raise NotReady(
            "give containers", f"device node {node.path}", "it does not exist and its numbers are unknown"
        )


def _refuse_missing(path: str, host_path: Path) -> None:
    if not os.path.exists(host_path):
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
