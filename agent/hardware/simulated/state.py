"""The changing state of a simulated machine, and the one file that holds it.

Every change is read, decided and written under a lock file, so that threads, the agent, the plugin and a test
see the same hardware. The file is replaced as a whole, so a process that is killed leaves the state from
before or after the change.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from agent.hardware.simulated.errors import NoMachine
from agent.hardware.simulated.gpu_troubles.ring import Ring
from agent.hardware.simulated.memory import Memory
from agent.hardware.simulated.nic_state import FunctionState
from agent.hardware.simulated.parts import Part
from agent.hardware.types import ComputeMode, TimeSlice

FORMAT: Final = 1
_NAME: Final = "machine.json"

_MAX_BYTES: Final = 16 * 2**20
"""More bytes than any state: the largest node file, escaped, and the instances of 32 GPUs."""


class ComputeState(Part, frozen=True):
    """A compute instance that leaves room in its GPU instance. Units: compute slices."""

    ci_id: int
    start: int
    size: int
    uuid: str


class InstanceState(Part, frozen=True):
    """A GPU instance.

    Shape: ``ci_uuid`` is that of the compute instance that fills it, whose id is always 0, None without one;
           ``narrow`` the narrower ones by id, none beside one that fills it.
    """

    gi_id: int
    profile_id: int
    start: int
    size: int
    ci_uuid: str | None = None
    narrow: tuple[ComputeState, ...] = ()


class GpuState(Part, frozen=True):
    """A GPU. Shape: ``instances`` by id."""

    mig_current: bool = False
    mig_pending: bool = False
    instances: tuple[InstanceState, ...] = ()
    compute_mode: ComputeMode = ComputeMode.DEFAULT
    time_slice: TimeSlice = TimeSlice.DEFAULT


class FabricState(Part, frozen=True):
    """The fabric manager. Shape: ids of partitions: those that are active, and those that it left out."""

    active: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()


class State(Part, frozen=True, omit_defaults=True):
    """A machine.

    Shape: ``source`` and ``node`` the node file's name and text; ``revision`` grows with every change;
           ``boots`` counts boots; ``minted`` counts all UUIDs ever made; ``gpus`` by UUID; ``vfs`` the
           enabled VFs by the PF's address; ``faults`` in their text form; ``functions`` by address those
           of NICs that are not as their driver first makes them; ``quiet`` the PFs whose new VFs get no
           driver; ``events`` the last ones of the GPUs' driver. What is as it was at first is not in the
           file, so that versions before a field read it, too.
    """

    source: str
    node: str
    gpus: dict[str, GpuState]
    vfs: dict[str, int]
    faults: tuple[str, ...] = ()
    format: int = FORMAT
    revision: int = 0
    boots: int = 1
    minted: int = 0
    functions: dict[str, FunctionState] = msgspec.field(default_factory=dict)
    quiet: tuple[str, ...] = ()
    fabric: FabricState = FabricState()
    events: Ring = Ring()


_STATES: Final = msgspec.json.Decoder(State)


@dataclass(frozen=True, slots=True)
class StateFile:
    """The state file of the machine in ``directory``."""

    directory: Path
    _path: str = field(init=False, repr=False, compare=False)
    _lock: str = field(init=False, repr=False, compare=False)
    _memory: Memory[State] = field(default_factory=Memory, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Every call of the driver reads the state, so the paths are built only once.
        object.__setattr__(self, "_path", os.fspath(self.directory / _NAME))
        object.__setattr__(self, "_lock", os.fspath(self.directory / "lock"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude all other threads and processes from changing the machine while the block runs."""
        # Each use opens the file again: then flock excludes threads of one process too.
        descriptor = os.open(self._lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def exists(self) -> bool:
        """Whether there is a machine here."""
        return os.path.exists(self._path)

    def read(self) -> State:
        """Return the state. Raises: NoMachine if there is none, or it cannot be read."""
        try:
            known = self._memory.recall(os.stat(self._path))
            return known or self._read()
        except FileNotFoundError as error:
            raise NoMachine(str(self.directory), "there is none; make it with tangram node create") from error
        except (OSError, msgspec.MsgspecError) as error:
            raise NoMachine(str(self.directory), f"{_NAME} cannot be read: {error}") from error

    def _read(self) -> State:
        with open(self._path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
            if len(data) > _MAX_BYTES:
                raise NoMachine(str(self.directory), f"{_NAME} is larger than {_MAX_BYTES // 2**20} MiB")
            state = _STATES.decode(data)
            if state.format != FORMAT:
                raise NoMachine(str(self.directory), f"{_NAME} has format {state.format}, not {FORMAT}")
            self._memory.keep(file.fileno(), state)
        return state

    def write(self, state: State) -> None:
        """Replace the state as a whole. Call with the lock held.

        The file is not synced: it survives every process, and real instances do not survive a power cut.
        """
        fresh = f"{self._path}.new"
        with open(fresh, "wb", buffering=0) as file:
            file.write(msgspec.json.format(msgspec.json.encode(state), indent=1))
            os.replace(fresh, self._path)
            self._memory.keep(file.fileno(), state)
