"""The campaign's folder on the node, and what Tangram leaves there.

In goes the node's file system as it is seen from here; out come events of the containers, locks that are
held, and names of what is left.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaos import holder
from chaos.documents import FOLDER, MACHINE
from chaos.forgotten import Container, forgotten
from chaos.plugin_log import Said, said_of

Event = dict[str, Any]
_DRIVER = "tangram.dev"
_TRACEBACK = "Traceback (most recent call last)"


class NodeSide:
    """One node. Shape: ``root`` is its file system, ``runtime`` the folder of its containerd."""

    def __init__(self, root: Path, runtime: Path) -> None:
        self._root, self._runtime = root, runtime
        self._folder = root / FOLDER.lstrip("/")
        self._machine = root / MACHINE.lstrip("/")
        self._read = 0
        self._before = self._changeable()
        self._logs: dict[Path, str] = {}

    def prepare(self) -> None:
        """Put the containers' program and the folder of locks there."""
        (self._folder / holder.LOCKS).mkdir(parents=True, exist_ok=True)
        shutil.copy(holder.__file__, self._folder / "holder.py")

    def new_events(self) -> list[Event]:
        """Return what containers have written since the last call."""
        path = self._folder / holder.EVENTS
        if not path.exists():
            return []
        with path.open("rb") as file:
            file.seek(self._read)
            whole = file.read().rpartition(b"\n")[0]
        self._read += len(whole) + bool(whole)
        return [json.loads(line) for line in whole.splitlines()]

    def forgotten(self) -> list[Container]:
        """Return the containers that run and of which the runtime does not know that."""
        return forgotten(Path("/proc"), self._runtime)

    def locked(self) -> list[str]:
        """Return the parts of the hardware whose locks somebody holds."""
        return [path.name for path in sorted((self._folder / holder.LOCKS).iterdir()) if _is_locked(path)]

    def left(self) -> Iterator[str]:
        """Yield what is left of claims, as sentences."""
        records = self._root / "var/lib/kubelet/plugins" / _DRIVER / "claims"
        yield from (f"the plugin has the record {path.name}" for path in records.glob("*"))
        documents = (self._root / "run/cdi").glob(f"*{_DRIVER}-*")
        yield from (f"there is the CDI file {path.name}" for path in documents)
        instances = self._machine.glob("root/proc/driver/nvidia/capabilities/gpu*/mig/gi*")
        yield from (f"there is the MIG instance {path.parts[-3]}/{path.name}" for path in instances)
        if self._changeable() != self._before:
            yield f"VFs and settings of GPUs are not as before: {self._changeable()}"
        yield from (f"the lock of {name} is held" for name in self.locked())

    def said_of(self, owner: str) -> list[Said]:
        """Return what the plugin's logs say of a claim, as ``plugin_log.said_of``."""
        self.tracebacks()  # reads the logs
        return said_of(owner, self._logs.values())

    def tracebacks(self, keep: Path | None = None) -> list[str]:
        """Return the logs of Tangram's containers that have a traceback, also of those that were removed.

        Shape: with ``keep`` the logs are written there, since the kubelet removes all but the last two of a
               container.
        """
        for path in (self._root / "var/log/pods").glob("tangram-system_*/*/*.log"):
            with contextlib.suppress(FileNotFoundError):
                self._logs[path.relative_to(self._root)] = path.read_text(errors="replace")
        if keep is not None:
            for name, text in self._logs.items():
                file = keep / "_".join(name.parts[-3:])
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
        return [str(name) for name, text in self._logs.items() if _TRACEBACK in text]

    def _changeable(self) -> Any:
        """Return the machine's state without what claims may leave: modes of MIG, counters of changes."""
        state = json.loads((self._machine / "machine.json").read_text())
        modes = {
            uuid: (one.get("compute_mode"), one.get("time_slice"), one.get("instances", []))
            for uuid, one in state["gpus"].items()
        }
        return state["vfs"], state.get("functions", {}), modes


def _is_locked(path: Path) -> bool:
    file = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
