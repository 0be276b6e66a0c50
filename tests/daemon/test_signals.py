"""A signal that asks a program to end is heard."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from daemon.signals import END_SIGNALS, EndSignal, on_end

LOADING = "import signal; before = signal.getsignal({0}); import daemon.early_end; "
# A signal at each line that the main thread runs while it waits, in whatever module.
SIGNALLED = """
import signal, sys
from daemon.signals import EndSignal

def at_each_line(frame, event, _):
    signal.raise_signal(signal.SIGTERM)
    return at_each_line

waiting = EndSignal().wait
sys.settrace(at_each_line)
waiting()
"""
UNCHANGED = LOADING + "assert signal.getsignal({0}) is before"


@pytest.fixture(autouse=True)
def handlers():
    """Put the test runner's own handlers back."""
    before = {number: signal.getsignal(number) for number in END_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_each_end_signal_calls_stop(number: int) -> None:
    calls: list[str] = []
    on_end(lambda: calls.append("stop"))

    signal.raise_signal(number)
    signal.raise_signal(number)

    assert calls == ["stop", "stop"]


def test_a_signal_at_any_step_of_the_wait_ends_it() -> None:
    subprocess.run([sys.executable, "-c", SIGNALLED], check=True, timeout=60)


def test_a_signal_before_the_wait_is_not_missed() -> None:
    ended = EndSignal()
    signal.raise_signal(signal.SIGTERM)

    ended.wait()


def test_the_last_stop_counts() -> None:
    calls: list[str] = []
    on_end(lambda: calls.append("old"))
    on_end(lambda: calls.append("new"))

    signal.raise_signal(signal.SIGTERM)

    assert calls == ["new"]


@pytest.mark.parametrize("number", ["signal.SIGTERM", "signal.SIGINT"])
def test_a_process_that_is_not_the_first_of_its_namespace_keeps_its_handlers(number: str) -> None:
    """What process 1 does is tested with a process namespace, in tests/flow."""
    subprocess.run([sys.executable, "-c", UNCHANGED.format(number)], check=True, timeout=60)
