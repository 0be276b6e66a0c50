"""Named locks that hold between threads and between processes.

A lock is a byte of one file, locked by an open file description of its own (``F_OFD_SETLK``). The kernel
releases it when the holder ends, however it ends, and no file is created or removed for it. Waiting is
bounded by the budget of the call; clock and sleep are arguments. The error of a wait that timed out names the
holder. Who holds a lock while its call into hardware hangs is not waited for.
Source: fcntl_locking(2), "Open file description locks".
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from plugin.base import files
from plugin.base.budget import Budget
from plugin.base.errors import CallerGone, HardwareHangs, LockTimeout, StorageFailed
from plugin.base.in_flight import CallInFlight, CallsInFlight

_POLL_S: Final = 0.01
_FOLDER_MODE: Final = 0o750
_FLOCK: Final = struct.Struct("@hhqqi4x")
"""C's ``struct flock``: type, whence, start, length, process (0 for these locks), and its padding."""
_LAST_BYTE: Final = 2**62


@dataclass(frozen=True, slots=True)
class _Holder:
    """What the kernel does not say of a lock: who of this process holds it, and what for."""

    purpose: str
    thread: int
    subject: str
    since: float


@dataclass(frozen=True, slots=True)
class KnownLock:
    """A lock that a thread of this process holds or waits for.

    Shape: ``subject`` what is locked; ``call`` the call into hardware that the thread is in, None for none.
    Units: ``age_s`` seconds since it was taken, or since the wait began.
    """

    subject: str
    purpose: str
    age_s: float
    is_held: bool
    call: CallInFlight | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Locks:
    """The locks of one file, which is created where it is missing.

    Shape: ``calls`` those into hardware that this process's threads are in, None where nobody notes them.
    Units: ``wait_s`` seconds of ``clock``, for whoever waits without a budget.
    """

    path: Path
    wait_s: float
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    calls: CallsInFlight | None = None
    _holders: dict[str, _Holder] = field(default_factory=dict, init=False, repr=False, compare=False)
    _waiting: dict[int, _Holder] = field(default_factory=dict, init=False, repr=False, compare=False)

    def hold(self, name: str, subject: str, purpose: str, budget: Budget | None = None) -> HeldLock:
        """Hold the lock ``name`` for the length of a ``with`` block.

        Shape: ``subject`` what is locked, for messages; ``purpose`` what the holder does, for messages of
               those who wait; ``budget`` that of the call, None for work that nobody waits for.
        Raises: LockTimeout naming the subject and the holder; HardwareHangs at once where the holder is in a
                call that hangs; CallerGone; StorageFailed.
        """
        return HeldLock(self, name, subject, purpose, budget)

    def acquire(self, name: str, subject: str, purpose: str, budget: Budget | None) -> int:
        """Take a lock; return the descriptor that ``release`` gives it back by. Raises: as ``hold``."""
        wish = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _byte(name), 1, 0)
        descriptor = self._try(wish)
        if descriptor is None:
            descriptor = self._awaited(wish, name, subject, purpose, budget or self._own_budget())
        self._holders[name] = _Holder(purpose, threading.get_ident(), subject, self.clock())
        return descriptor

    def release(self, name: str, descriptor: int) -> None:
        """Release a lock that ``acquire`` took."""
        del self._holders[name]
        os.close(descriptor)

    def known(self) -> tuple[KnownLock, ...]:
        """Return the locks that this process holds or waits for, the oldest first. Waits for nothing."""
        held = [(one, True) for one in self._holders.copy().values()]
        awaited = [(one, False) for one in self._waiting.copy().values()]
        now = self.clock()
        return tuple(
            KnownLock(one.subject, one.purpose, now - one.since, is_held, self._call_of(one))
            for one, is_held in sorted((*held, *awaited), key=lambda each: each[0].since)
        )

    def _awaited(self, wish: bytes, name: str, subject: str, purpose: str, budget: Budget) -> int:
        """Wait for a lock that another holds; that this thread waits is known meanwhile."""
        thread = threading.get_ident()
        self._waiting[thread] = _Holder(purpose, thread, subject, self.clock())
        try:
            return self._tried_again(wish, name, subject, purpose, budget)
        finally:
            del self._waiting[thread]

    def _tried_again(self, wish: bytes, name: str, subject: str, purpose: str, budget: Budget) -> int:
        began_at = budget.clock()
        while (descriptor := self._try(wish)) is None:
            self._refuse_hung(name, f"{subject} to {purpose}")
            if budget.rest(_POLL_S):
                continue
            if not budget.is_wanted():
                raise CallerGone("lock", f"{subject} to {purpose}", "its caller gave up waiting")
            waited_s = round(budget.clock() - began_at, 1)
            reason = f"it was not released within {waited_s:g} s; {self._holder_text(name)}"
            raise LockTimeout("lock", f"{subject} to {purpose}", reason)
        return descriptor

    def _own_budget(self) -> Budget:
        ends_at = self.clock() + self.wait_s
        return Budget(
            ends_at=ends_at,
            holders_end_at=ends_at,
            clock=self.clock,
            sleep=self.sleep,
            is_wanted=lambda: True,
        )

    def _refuse_hung(self, name: str, wish: str) -> None:
        holder = self._holders.get(name)
        call = self._call_of(holder)
        if holder is not None and call is not None and call.is_hung:
            raise HardwareHangs("lock", wish, f"this process holds it to {holder.purpose}, and {call}")

    def _call_of(self, holder: _Holder | None) -> CallInFlight | None:
        if holder is None or self.calls is None:
            return None
        return self.calls.of_thread(holder.thread)

    def _try(self, wish: bytes) -> int | None:
        """Return a descriptor that holds the lock, None where another holds it. Raises: StorageFailed."""
        descriptor, is_held = self._opened(), False
        try:
            is_held = self._is_granted(descriptor, wish)
        finally:
            if not is_held:
                os.close(descriptor)
        return descriptor if is_held else None

    def _is_granted(self, descriptor: int, wish: bytes) -> bool:
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wish)
            # A plugin whose start failed may have removed its new folder since the file was opened.
            return os.path.samestat(os.fstat(descriptor), os.stat(self.path))
        except (BlockingIOError, PermissionError, FileNotFoundError):  # locked (EAGAIN, EACCES), or gone
            return False
        except OSError as error:
            raise StorageFailed("lock", str(self.path), error.strerror or str(error)) from error

    def _holder_text(self, name: str) -> str:
        holder = self._holders.get(name)
        if holder is None:
            return "another process of this driver holds it"
        return f"this process holds it to {holder.purpose}"

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            try:
                return os.open(self.path, flags, 0o600)
            except FileNotFoundError:
                files.make_folder(self.path.parent, _FOLDER_MODE)
                return os.open(self.path, flags, 0o600)
        except OSError as error:
            raise StorageFailed("open", f"lock file {self.path}", error.strerror or str(error)) from error


class HeldLock:
    """The block that holds a lock. Every claim has several, and a generator would cost twice as much."""

    __slots__ = ("_descriptor", "_locks", "_wanted")

    def __init__(self, locks: Locks, name: str, subject: str, purpose: str, budget: Budget | None) -> None:
        self._locks, self._wanted = locks, (name, subject, purpose, budget)

    def __enter__(self) -> None:
        self._descriptor = self._locks.acquire(*self._wanted)

    def __exit__(self, *_error: object) -> None:
        self._locks.release(self._wanted[0], self._descriptor)


def is_held(path: Path, name: str) -> bool:
    """Whether anybody holds a lock of a file now. Nothing is changed. Raises: StorageFailed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageFailed("open", f"lock file {path}", error.strerror or str(error)) from error
    try:
        question = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, _byte(name), 1, 0)
        answer: tuple[int, ...] = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, question))
        return answer[0] != fcntl.F_UNLCK
    except OSError as error:
        raise StorageFailed("ask for", f"locks of {path}", error.strerror or str(error)) from error
    finally:
        os.close(descriptor)


def _byte(name: str) -> int:
    """Return the byte of a name, from a 62-bit hash: two names with one byte are not to be expected."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") % _LAST_BYTE
