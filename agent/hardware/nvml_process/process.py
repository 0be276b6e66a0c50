"""One child process that is asked by messages. Safe to use from any thread.

Takes calls; returns answers. A thread reads them, and every call waits for its own. No call waits longer than
it says; an answer that does not come ends the process.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from itertools import count
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Final

from agent.hardware.errors import (
    DriverLetGo,
    GivenUp,
    HardwareError,
    HardwareFault,
    SessionEnded,
    SteppedAside,
    Unanswered,
)
from agent.hardware.nvml_process.calls import (
    MOST_BYTES,
    Answer,
    Answered,
    Call,
    Refusal,
    Result,
    decode_answer,
    encode_question,
    value_of,
)
from agent.hardware.nvml_program import MODULE, STEP_ASIDE, STEPPED_ASIDE

_STEPPED_ASIDE: Final = frozenset({STEPPED_ASIDE, -STEP_ASIDE})  # by the signal: before any call could begin
_DIES_S: Final = 5.0


class HowItEnded(StrEnum):
    """How a process ended."""

    LET_GO = "asked to let go of the driver"
    STEPPED_ASIDE = "asked to step aside"
    OTHERWISE = "otherwise"

    @classmethod
    def of(cls, status: int) -> HowItEnded:
        """Return what a status of ``Popen.wait`` means."""
        if status == -signal.SIGTERM:
            return cls.LET_GO
        return cls.STEPPED_ASIDE if status in _STEPPED_ASIDE else cls.OTHERWISE


class Ended:
    """What a call hears instead of an answer when the process is gone."""


class Interrupted:
    """What a call hears instead of an answer when the program ends."""


Heard = Answer | Ended | Interrupted
Inbox = SimpleQueue[Heard]
Wait = Callable[[Inbox, float], Heard]
"""Waits at an inbox for so many seconds. Raises: Empty."""


def wait_for_answer(inbox: Inbox, longest_s: float) -> Heard:
    """Return what comes first. Raises: Empty where nothing comes in time."""
    return inbox.get(timeout=longest_s)


class Interruption:
    """Ends all waiting for answers, once for all. ``come`` takes no lock: a signal handler may call it."""

    def __init__(self) -> None:
        self.has_come = False
        self._inboxes: set[Inbox] = set()

    def come(self) -> None:
        """End what waits, and refuse what would wait."""
        self.has_come = True
        for inbox in tuple(self._inboxes):
            inbox.put(Interrupted())

    def watch(self, inbox: Inbox) -> None:
        """End the waiting at this inbox, too."""
        self._inboxes.add(inbox)
        if self.has_come:
            inbox.put(Interrupted())

    def forget(self, inbox: Inbox) -> None:
        """Forget an inbox at which nobody waits any more."""
        self._inboxes.discard(inbox)


def _started() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """Return our end of a channel and the process at the other end. Raises: HardwareFault."""
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError as error:
        raise _not_started(error) from error
    command = [sys.executable, "-P", "-m", MODULE, str(theirs.fileno())]
    with theirs:
        try:
            # In a session of its own, so that ^C in a terminal is for the program alone.
            child = subprocess.Popen(  # noqa: S603 - this Python, a module of ours
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as error:
            ours.close()
            raise _not_started(error) from error
    return ours, child


def _not_started(error: OSError) -> HardwareFault:
    return HardwareFault("start a process for NVML", "this node", str(error))


class Process:
    """A running NVML process.

    Shape: ``hear_end`` is called by another thread once the process is gone, with how it ended.
    Raises: HardwareFault where no process can be started.
    """

    def __init__(
        self, interruption: Interruption, hear_end: Callable[[HowItEnded], None], wait: Wait = wait_for_answer
    ) -> None:
        self._wait = wait
        self._interruption = interruption
        self._hear_end = hear_end
        self._numbers = count(1)
        self._lock = Lock()
        self._inboxes: dict[int, Inbox] = {}
        self._is_retired = False
        self._is_over = False
        self._channel, self._child = _started()
        self._reader = Thread(target=self._read, name="nvml", daemon=True)
        self._reader.start()

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone; one that is inside the kernel may stay after it was killed."""
        return self._is_over

    @property
    def pid(self) -> int:
        """Return the number of the process."""
        return self._child.pid

    def ask(self, call: Call[Answered], subject: str, *arguments: object) -> Answered:
        """Return what a call returns.

        Raises: the call's HardwareError; Unanswered; SessionEnded, DriverLetGo, SteppedAside where the
                process ends; GivenUp.
        """
        number, inbox = next(self._numbers), Inbox()
        self._interruption.watch(inbox)
        try:
            self._send(number, inbox, encode_question(number, call, arguments))
            answer = self._wait(inbox, call.longest_s)
        except Empty:
            raise self._unanswered(call, subject) from None
        finally:
            self._interruption.forget(inbox)
            self._forget(number)
        match answer:
            case Ended():
                raise self._ended(call, subject)
            case Interrupted():
                raise GivenUp(call.attempted, subject, "the program ends")
            case Refusal() as refusal:
                raise refusal.error()
            case Result() as result:
                return value_of(call, result)

    def kill(self) -> None:
        """End the process now; whoever waits hears of it."""
        self._child.kill()

    def wait(self, longest_s: float | None = None) -> None:
        """Return once the process is gone and everybody heard of it, or after so many seconds."""
        self._reader.join(longest_s)

    def close(self) -> None:
        """End the process now and wait a moment for its end, so that its handles are gone.

        One that waits inside the kernel ends when the kernel lets it.
        """
        self.kill()
        self.wait(_DIES_S)

    def _send(self, number: int, inbox: Inbox, data: bytes) -> None:
        with self._lock:
            self._inboxes[number] = inbox
            if self._is_over:
                inbox.put(Ended())
        with suppress(OSError):  # the process is going: whoever reads from it tells all that wait
            self._channel.send(data)

    def _forget(self, number: int) -> None:
        with self._lock:
            self._inboxes.pop(number, None)
            is_useless = self._is_retired and not self._inboxes
        if is_useless:
            self.kill()

    def _unanswered(self, call: Call[Any], subject: str) -> HardwareError:
        """End the process; of several calls that wait, the first one is blamed."""
        with self._lock:
            is_first, self._is_retired = not self._is_retired, True
        if not is_first:
            return SessionEnded(call.attempted, subject, "another call hangs in the same process")
        reason = f"NVML has not answered within {call.longest_s:g} s"
        return Unanswered(call.attempted, subject, reason, lambda: self.has_ended)

    def _ended(self, call: Call[Any], subject: str) -> HardwareError:
        code = self._child.wait()
        how = HowItEnded.of(code)
        if how is HowItEnded.LET_GO:
            return DriverLetGo(call.attempted, subject, "this program was asked to let go of the driver")
        if how is HowItEnded.STEPPED_ASIDE:
            return SteppedAside(call.attempted, subject, "its process stepped aside before it began")
        text = f"by signal {-code}" if code < 0 else f"with status {code}"
        return SessionEnded(call.attempted, subject, f"its process ended {text}")

    def _read(self) -> None:
        """Hand out the answers until the process is gone."""
        with self._channel:
            while data := self._received():
                try:
                    answer = decode_answer(data)
                except ValueError:
                    break  # what the driver did to this process is not known: it says nothing more
                with self._lock:
                    inbox = self._inboxes.get(answer.number)
                if inbox is not None:
                    inbox.put(answer)
        self._child.kill()
        self._hear_end(HowItEnded.of(self._child.wait()))
        with self._lock:
            self._is_over = True
            waiting = list(self._inboxes.values())
        for inbox in waiting:
            inbox.put(Ended())

    def _received(self) -> bytes:
        try:
            return self._channel.recv(MOST_BYTES)
        except OSError:
            return b""
