"""Locks between threads and between processes."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from plugin.base.errors import LockTimeout, StorageFailed
from plugin.base.locks import Locks

HOLDER = """
import sys, time
from pathlib import Path
from plugin.base.locks import Locks
locks = Locks(path=Path(sys.argv[1]), wait_s=1, clock=time.monotonic, sleep=time.sleep)
with locks.hold("gpu-0", "GPU 0", "prepare claim default/elsewhere"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def locks(tmp_path: Path, clock: Any) -> Locks:
    return Locks(path=tmp_path / "lock", wait_s=5.0, clock=clock, sleep=clock.sleep)


def test_who_waits_too_long_gives_up_and_names_the_holder(locks: Locks, clock: Any) -> None:
    with (
        locks.hold("gpu-3", "GPU 3", "prepare claim default/slow"),
        pytest.raises(LockTimeout) as refusal,
        locks.hold("gpu-3", "GPU 3", "unprepare claim default/mine"),
    ):
        pass

    text = str(refusal.value)
    assert "GPU 3 to unprepare claim default/mine" in text
    assert "holds it to prepare claim default/slow" in text
    assert refusal.value.retry
    assert 5.0 <= clock.now < 5.1


def test_one_lock_never_delays_another(locks: Locks, clock: Any) -> None:
    with locks.hold("gpu-0", "GPU 0", "one"), locks.hold("gpu-1", "GPU 1", "two"):
        pass

    assert clock.slept == []


def test_locks_of_any_names_are_one_empty_file_and_can_be_had_again(locks: Locks) -> None:
    for number in range(6):
        with locks.hold(f"gpu-{number // 2}", "GPU", "work"):
            pass

    assert list(locks.path.parent.iterdir()) == [locks.path]
    assert locks.path.stat().st_size == 0


def test_an_error_under_the_lock_frees_it(locks: Locks) -> None:
    with pytest.raises(ValueError, match="broken"), locks.hold("gpu-0", "GPU 0", "work"):
        raise ValueError("broken")

    with locks.hold("gpu-0", "GPU 0", "work"):
        pass


def test_threads_take_turns(locks: Locks) -> None:
    inside, most = 0, 0
    wait = threading.Event()
    patient = Locks(path=locks.path, wait_s=1e9, clock=lambda: 0.0, sleep=lambda _: wait.wait(0.001) or None)

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with patient.hold("gpu-0", "GPU 0", "work"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert most == 1


def test_another_process_holds_it_until_it_dies(locks: Locks) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(locks.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(LockTimeout, match="another process of this driver holds it"),
            locks.hold("gpu-0", "GPU 0", "prepare claim default/here"),
        ):
            pass

        holder.kill()
        holder.wait()

    with locks.hold("gpu-0", "GPU 0", "prepare claim default/here"):
        pass


@pytest.mark.parametrize("successor", [True, False])
def test_a_lock_whose_file_went_away_between_opening_and_locking_it_is_not_the_lock(
    locks: Locks, monkeypatch: pytest.MonkeyPatch, successor: bool
) -> None:
    lock, calls = fcntl.fcntl, []

    def file_leaves_first(descriptor: int, *wish: Any) -> Any:
        calls.append(descriptor)
        if len(calls) == 1:
            locks.path.unlink()
            if successor:
                locks.path.touch()
        return lock(descriptor, *wish)

    monkeypatch.setattr(fcntl, "fcntl", file_leaves_first)
    with locks.hold("gpu-0", "GPU 0", "prepare claim default/first"):
        assert len(calls) == 2, "the orphan was given up and the path opened again"
        with (
            pytest.raises(LockTimeout, match="holds it to prepare claim default/first"),
            locks.hold("gpu-0", "GPU 0", "prepare claim default/second"),
        ):
            pass


def test_a_lock_file_that_cannot_be_opened_is_named(locks: Locks) -> None:
    locks.path.mkdir()

    with pytest.raises(StorageFailed, match=r"cannot open lock file .*/lock: Is a directory"):
        locks.hold("gpu-0", "GPU 0", "work").__enter__()
