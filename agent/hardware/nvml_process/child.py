"""The NVML process: ``python3 -m agent.hardware.nvml_process.child FD``. It answers until its parent is gone.

Takes the descriptor of one end of a socket pair. Each message is a question, and each question has a thread,
so that a call that hangs keeps no other waiting. SIGTERM ends it at once: whoever needs the driver free sends
that, and its handles are gone. SIGUSR1 ends it as soon as no call is in it: what was not begun by then is
asked again of the next one. A call that only waits for events does not count. It imports little, because
every node has one.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any

from agent.hardware.errors import HardwareError, HardwareFault
from agent.hardware.nvml import Nvml
from agent.hardware.nvml_process.calls import (
    MOST_BYTES,
    OPEN,
    WAIT_EVENTS,
    Answer,
    Call,
    Refusal,
    decode_question,
    encode_answer,
    result,
)
from agent.hardware.nvml_program import NAME, STEP_ASIDE, STEPPED_ASIDE


class Child:
    """One session with NVML, asked by messages."""

    def __init__(self, inside: CallsInside) -> None:
        self._inside = inside
        self._nvml: Nvml | None = None

    def answer(self, number: int, call: Call[Any], arguments: tuple[Any, ...]) -> Answer:
        """Make a call and return its answer, whatever happens in it."""
        try:
            return result(number, self._made(call, arguments))
        except HardwareError as error:
            return Refusal.of(number, error)
        except Exception as error:  # noqa: BLE001 - what an odd driver answers must end no session
            subject = f"GPU {arguments[0]}" if arguments else "this node"
            reason = f"unexpected {type(error).__name__}: {error}"
            return Refusal.of(number, HardwareFault(call.attempted, subject, reason))

    def _made(self, call: Call[Any], arguments: tuple[Any, ...]) -> object:
        if call is OPEN:
            (library,) = arguments
            self._nvml = Nvml.open(None if library is None else Path(library))
            return None
        if call is WAIT_EVENTS and self._nvml is not None:
            (longest_s,) = arguments
            return self._nvml.wait_events(longest_s, self._inside.away)
        return getattr(self._nvml, call.name)(*arguments)


class CallsInside:
    """Counts the calls in this process, which ends between two of them where it is asked to step aside."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._count = 0
        self._is_ending = False

    def begin(self) -> bool:
        """Count a call; return False where no more may begin."""
        with self._changed:
            self._count += not self._is_ending
            return not self._is_ending

    def end(self) -> None:
        """Note that a call was answered."""
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Do not count a call while it only waits: the process may end then, and the call with it."""
        self.end()
        try:
            yield
        finally:
            if not self.begin():
                Event().wait()  # the process ends now

    def step_aside_when_asked(self) -> None:
        """Wait for the signal, which every thread blocks, then for the calls, and end the process."""
        signal.sigwait({STEP_ASIDE})
        with self._changed:
            self._is_ending = True
            self._changed.wait_for(lambda: self._count == 0)
            os._exit(STEPPED_ASIDE)


def main(argv: list[str]) -> None:
    """Answer until the other end of the socket pair is closed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {STEP_ASIDE})
    with suppress(OSError):
        Path("/proc/self/comm").write_text(NAME)
    channel, inside = int(argv[0]), CallsInside()
    child = Child(inside)
    Thread(target=inside.step_aside_when_asked, daemon=True).start()
    while data := os.read(channel, MOST_BYTES):
        if inside.begin():
            Thread(target=_answer, args=(child, channel, data, inside), daemon=True).start()
    os._exit(0)  # what the library would do at a usual end may hang


def _answer(child: Child, channel: int, data: bytes, inside: CallsInside) -> None:
    answer = child.answer(*decode_question(data))
    with suppress(OSError):  # the parent is gone
        os.write(channel, encode_answer(answer))
    inside.end()


if __name__ == "__main__":
    main(sys.argv[1:])
