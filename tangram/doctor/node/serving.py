"""PURE: what keeps the plugin from working: its sockets, its folders, its locks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tangram.doctor import kinds
from tangram.doctor.finding import Finding
from tangram.doctor.node.facts import Folder, NodeFacts

_LEAST: Final = 1 << 20
"""Bytes that must be free: records and documents of a hundred claims."""


def serving_findings(facts: NodeFacts) -> Iterator[Finding]:
    """Yield what keeps the plugin from working."""
    serving = facts.serving
    yield from _of_sockets(facts)
    if serving.has_run:
        yield from (found for folder in serving.folders for found in _of_folder(folder))
    for lock in serving.locks:
        holders = f" by {', '.join(lock.holders)}" if lock.holders else ""
        yield Finding(
            kind=kinds.LOCK_HELD,
            object=lock.name,
            problem=f"the lock of {lock.name} is held{holders}",
            remedies=("tangram plugin status", f"fuser --verbose {serving.lock_file}"),
        )


def _of_sockets(facts: NodeFacts) -> Iterator[Finding]:
    serving = facts.serving
    if not serving.sockets:
        seen = (
            "no process listens to a socket in" if serving.has_run else "no plugin has run here: there is no"
        )
        yield Finding(
            kind=kinds.PLUGIN_NOT_RUNNING,
            object=facts.node,
            problem=f"{seen} {serving.data_dir}",
            remedies=(
                "kubectl get pods --all-namespaces --selector app.kubernetes.io/name=tangram "
                f"--field-selector spec.nodeName={facts.node}",
            ),
        )
    for socket in serving.sockets:
        if socket.problem:
            yield Finding(
                kind=kinds.PLUGIN_HANGS,
                object=socket.path.name,
                problem=socket.problem.strip(),
                remedies=("tangram plugin status", f"fuser --verbose {socket.path}"),
            )
    if serving.sockets and not any(one.is_registered for one in serving.sockets):
        yield Finding(
            kind=kinds.PLUGIN_NOT_REGISTERED,
            object=facts.node,
            problem=f"{serving.sockets[0].path} answers, and no socket for the kubelet announces it",
            remedies=(f"ls -l {serving.data_dir.parent.parent / 'plugins_registry'}",),
        )


def _of_folder(folder: Folder) -> Iterator[Finding]:
    if folder.problem:
        yield Finding(
            kind=kinds.FOLDER_UNWRITABLE,
            object=str(folder.path),
            problem=f"{folder.path}: {folder.problem}",
            remedies=(f"ls -ld {folder.path}", f"findmnt --target {folder.path}"),
        )
    elif folder.free < _LEAST or folder.files == 0:
        room = "no more files fit" if folder.files == 0 else f"{folder.free} bytes are free"
        yield Finding(
            kind=kinds.DISK_FULL,
            object=str(folder.path),
            problem=f"{folder.path}: {room}",
            remedies=(f"df --human-readable {folder.path}", f"df --inodes {folder.path}"),
        )
