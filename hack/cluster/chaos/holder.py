"""Runs in a pod's container: takes a kernel lock on every part of the hardware that the container sees.

In go the container's variables, the machine's files and a folder on the node; out come lines in that folder:
what was locked, which lock somebody else has (a double), and which hardware is gone while it is in use. The
kernel frees the locks when the container ends, however it ends. It needs the standard library only.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

LOCKS = "locks"
EVENTS = "events"
_MUTEX = "mutex"
_GPU_SLICES = 8  # of an A100: whole GPUs have all of them
LOOK_S = 1.0
_SEEN = re.compile(r"TANGRAM_DEVICE_[A-Z0-9_]+")


class NotThere(Exception):
    """The container was told of hardware that the machine does not have."""


def units(seen: Sequence[str], machine: Path) -> frozenset[str]:
    """Return the parts of the hardware that these devices are.

    Shape: ``seen`` are UUIDs of GPUs and MIG devices, and PCI addresses; ``machine`` is the folder of the
           simulated machine. A part is one memory slice of a GPU, a VF, or a NIC's own function; a whole
           NIC is its function and all its VFs.
    Raises: NotThere.
    """
    state = json.loads((machine / "machine.json").read_text())
    return frozenset(unit for one in seen for unit in _units(one, state, machine))


def _units(identity: str, state: Mapping[str, Any], machine: Path) -> Iterator[str]:
    if identity in state["gpus"]:
        if state["gpus"][identity].get("instances"):
            raise NotThere(f"{identity} is cut, so it is no whole GPU")
        yield from (f"{identity}-slice-{number}" for number in range(_GPU_SLICES))
        return
    for gpu, one in state["gpus"].items():
        for instance in one.get("instances", ()):
            if instance.get("ci_uuid") == identity:
                first = instance["start"]
                yield from (f"{gpu}-slice-{number}" for number in range(first, first + instance["size"]))
                return
    function = machine / "root/sys/bus/pci/devices" / identity
    if not function.exists():
        raise NotThere(f"{identity} is not there")
    yield identity
    yield from (os.path.basename(os.readlink(one)) for one in function.glob("virtfn*"))


class Holder:
    """One container. Shape: ``owner`` is the same for all pods that may have the same devices."""

    def __init__(self, folder: Path, machine: Path, pod: str, owner: str) -> None:
        self._folder, self._machine = folder, machine
        self._pod, self._owner = pod, owner
        self._open: list[int] = []
        self._wanted: frozenset[str] = frozenset()
        self._looked = 0

    def take(self, seen: Sequence[str]) -> bool:
        """Lock all that is seen, write down what came of it, and return whether all could be locked."""
        try:
            self._looked = self._changed()
            wanted = self._wanted = units(seen, self._machine)
        except NotThere as error:
            self.tell("lost", why=str(error))
            return False
        others: dict[str, str] = {}
        # Containers take their locks one after the other: outside this block every lock is a shared one.
        with (self._folder / _MUTEX).open("w") as mutex:
            fcntl.flock(mutex, fcntl.LOCK_EX)
            for unit in sorted(wanted):
                other = self._lock(self._folder / LOCKS / unit)
                if other is not None:
                    others[unit] = other
        self.tell("held", units=sorted(wanted - others.keys()))
        for unit, other in others.items():
            self.tell("double", unit=unit, with_=other)
        return not others

    def _lock(self, path: Path) -> str | None:
        """Lock one part; return who has it where that is somebody else."""
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(file, fcntl.LOCK_SH)
            found = os.pread(file, 4096, 0).decode()
            if found != self._owner:
                os.close(file)
                return found
        else:
            os.ftruncate(file, 0)
            os.pwrite(file, self._owner.encode(), 0)
            fcntl.flock(file, fcntl.LOCK_SH)
        self._open.append(file)
        return None

    def keep(self, seen: Sequence[str], seconds: float) -> None:
        """Hold the locks for this time, and look whether the hardware stays what it was."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(LOOK_S, left))
            before, self._looked = self._looked, self._changed()
            if self._looked == before:
                continue
            try:
                if (found := units(seen, self._machine)) != self._wanted:
                    raise NotThere(f"was {sorted(self._wanted)}, is {sorted(found)}")
            except NotThere as error:
                self.tell("lost", why=f"{error}, while it was in use")
                return

    def _changed(self) -> int:
        return (self._machine / "machine.json").stat().st_mtime_ns

    def tell(self, kind: str, **more: object) -> None:
        """Append one line to what happened."""
        line = {"at": time.time(), "kind": kind, "pod": self._pod, "owner": self._owner, **more}
        file = os.open(self._folder / EVENTS, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Hold what this container sees for some seconds. Shape: FOLDER MACHINE POD OWNER SECONDS."""
    folder, machine, pod, owner, seconds = arguments
    # Process 1 of a container gets only the signals that it handles.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    seen = sorted({value for name, value in environment.items() if _SEEN.fullmatch(name)})
    holder = Holder(Path(folder), Path(machine), pod, owner)
    if not seen:
        holder.tell("lost", why="the container sees no device")
        return 1
    if not holder.take(seen):
        return 1
    holder.keep(seen, float(seconds))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], os.environ))
