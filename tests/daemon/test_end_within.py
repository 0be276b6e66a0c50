"""A program ends some time after a signal, whatever its threads do."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from daemon.end_within import EndWithin

BEGIN = """
import ctypes, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from daemon.end_within import EndWithin
from daemon.signals import EndSignal
ended = EndSignal()
tell = lambda: print("cut off", flush=True)
"""
# Taken twice, such a lock is waited for by the C library, which no signal interrupts.
MAIN_THREAD_IN_A_LIBRARY = """
lock = ctypes.create_string_buffer(64)
take = ctypes.CDLL(None).pthread_mutex_lock
with EndWithin(0.1, tell):
    take(lock)
    print("hangs", flush=True)
    take(lock)
"""
THREAD_THAT_NEVER_ENDS = """
with EndWithin(0.1, tell):
    ThreadPoolExecutor().submit(time.sleep, 3600)
    print("hangs", flush=True)
    ended.wait()
"""
TELLING_HANGS = """
with EndWithin(0.1, lambda: time.sleep(3600)):
    ThreadPoolExecutor().submit(time.sleep, 3600)
    print("hangs", flush=True)
    ended.wait()
"""
ENDS_BY_ITSELF = """
with EndWithin(3600, tell):
    print("works", flush=True)
    ended.wait()
"""
FAILS_BEFORE = """
try:
    with EndWithin(0, tell):
        raise OSError
except OSError:
    print("failed", flush=True)
ended.wait()
time.sleep(0.2)
sys.exit(3)
"""


@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        (MAIN_THREAD_IN_A_LIBRARY, 0, "cut off\n"),
        (THREAD_THAT_NEVER_ENDS, 0, "cut off\n"),
        (TELLING_HANGS, 0, ""),
        (ENDS_BY_ITSELF, 0, ""),
        (FAILS_BEFORE, 3, ""),
    ],
    ids=["main-thread-in-a-library", "thread", "telling", "by-itself", "disarmed"],
)
def test_a_program_that_was_asked_to_end_ends(program: str, status: int, said: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN + program], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.send_signal(signal.SIGTERM)

        assert running.wait(timeout=60) == status
        assert running.stdout.read() == said


def test_a_block_that_fails_leaves_no_trace() -> None:
    with pytest.raises(OSError, match="failed"), EndWithin(0.0, lambda: None):
        raise OSError("failed")

    assert signal.set_wakeup_fd(-1) == -1
