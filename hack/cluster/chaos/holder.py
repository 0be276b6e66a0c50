"""Runs in a pod's container: takes a kernel lock on every part of the hardware that the container sees.

In go the container's variables and device nodes, the machine's files and a folder on the node; out come
lines in that folder: what was locked, which lock somebody else has (a double), and which hardware is gone
while it is in use. A device node is another inode in each container, so the files that containers lock lie in
the folder, under the names of what they see. The kernel frees the locks when the container ends, however it
ends. It needs the standard library only.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import struct
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LOCKS = "locks"
EVENTS = "events"
_MUTEX = "mutex"
_GPU_SLICES = 8  # of an A100: whole GPUs have all of them
_GPU_GIB = 40  # likewise
_GIB = 2**30
LOOK_S = 1.0
_SEEN = re.compile(r"TANGRAM_DEVICE_[A-Z0-9_]+")
_AMOUNT = "_MEMORY_BYTES"
_AMOUNTS = (_AMOUNT, "_MULTIPROCESSORS")
# Nodes that one container alone may have: access to a MIG device, an RDMA device, an IOMMU group.
_OWN_NODES = ("nvidia-caps/nvidia-cap*", "infiniband/uverbs*", "vfio/[0-9]*")


class NotThere(Exception):
    """The container was told of hardware that the machine does not have."""


class Seen(NamedTuple):
    """What a container sees.

    Shape: ``own`` are UUIDs of GPUs and MIG devices, and PCI addresses; ``shares`` maps the UUIDs of shared
           GPUs to amounts; ``nodes`` names device nodes that it should have for itself. Units: GiB.
    """

    own: Sequence[str]
    shares: Mapping[str, int] = {}
    nodes: Sequence[str] = ()

    @classmethod
    def of(cls, environment: Mapping[str, str], dev: Path) -> Seen:
        """Read the variables of a container and its folder of device nodes."""
        told = {name: value for name, value in environment.items() if _SEEN.fullmatch(name)}
        devices = {name: value for name, value in told.items() if not name.endswith(_AMOUNTS)}
        shares = {
            value: -(-int(told[name + _AMOUNT]) // _GIB)
            for name, value in devices.items()
            if name + _AMOUNT in told
        }
        nodes = sorted(path.name for pattern in _OWN_NODES for path in dev.glob(pattern))
        return cls(sorted({*devices.values()} - shares.keys()), shares, nodes)


def owned_units(seen: Seen, machine: Path, owner: str) -> dict[str, str]:
    """Return who may have each part of the hardware that a container sees: shares have an owner in common."""
    found = dict.fromkeys(units(seen.own, machine), owner)
    for gpu in seen.shares:
        found |= dict.fromkeys(units([gpu], machine), f"shares of {gpu}")
    return found


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
        self._wanted: dict[str, str] = {}
        self._looked = 0

    def take(self, seen: Seen) -> bool:
        """Lock all that is seen, write down what came of it, and return whether all could be locked."""
        try:
            self._looked = self._changed()
            self._wanted = owned_units(seen, self._machine, self._owner)
        except NotThere as error:
            self.tell("lost", why=str(error))
            return False
        others: dict[str, str] = {}
        # Containers take their locks one after the other: outside this block every lock is a shared one.
        with (self._folder / _MUTEX).open("w") as mutex:
            fcntl.flock(mutex, fcntl.LOCK_EX)
            wanted = {**self._wanted, **{f"node-{name}": self._owner for name in seen.nodes}}
            for unit, owner in sorted(wanted.items()):
                other = self._lock(self._folder / LOCKS / unit, owner)
                if other is not None:
                    others[unit] = other
            for gpu, amount in seen.shares.items():
                if not self._has_room(self._folder / LOCKS / f"{gpu}-memory", amount):
                    others[f"{gpu}-memory"] = f"shares of more than {_GPU_GIB} GiB"
        self.tell("held", units=sorted(wanted.keys() - others.keys()))
        for unit, other in others.items():
            self.tell("double", unit=unit, with_=other)
        return not others

    def _lock(self, path: Path, owner: str) -> str | None:
        """Lock one part; return who has it where that is somebody else."""
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(file, fcntl.LOCK_SH)
            found = os.pread(file, 4096, 0).decode()
            if found != owner:
                os.close(file)
                return found
        else:
            os.ftruncate(file, 0)
            os.pwrite(file, owner.encode(), 0)
            fcntl.flock(file, fcntl.LOCK_SH)
        self._open.append(file)
        return None

    def _has_room(self, path: Path, amount: int) -> bool:
        """Lock so many bytes that nobody else has, one for each GiB; return whether there were enough."""
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        self._open.append(file)
        free = (place for place in range(_GPU_GIB) if _lock_byte(file, place))
        return sum(1 for _, _ in zip(range(amount), free, strict=False)) == amount

    def keep(self, seen: Seen, seconds: float) -> None:
        """Hold the locks for this time, and look whether the hardware stays what it was."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(LOOK_S, left))
            before, self._looked = self._looked, self._changed()
            if self._looked == before:
                continue
            try:
                if (found := owned_units(seen, self._machine, self._owner)) != self._wanted:
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


def _lock_byte(file: int, place: int) -> bool:
    """Lock one byte for this open file, as processes and threads of any container see it."""
    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, wanted)
    except (BlockingIOError, PermissionError):
        return False
    return True


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Hold what this container sees for some seconds. Shape: FOLDER MACHINE POD OWNER SECONDS."""
    folder, machine, pod, owner, seconds = arguments
    # Process 1 of a container gets only the signals that it handles.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    seen = Seen.of(environment, Path("/dev"))
    holder = Holder(Path(folder), Path(machine), pod, owner)
    if not seen.own and not seen.shares:
        holder.tell("lost", why="the container sees no device")
        return 1
    if not holder.take(seen):
        return 1
    holder.keep(seen, float(seconds))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:], os.environ))
