"""Which locks a claim takes: its own, then those of all hardware that it has or had, in one order."""

from __future__ import annotations

from typing import Any

import pytest

from plugin.base.errors import LockTimeout
from plugin.base.locks import Locks

HALF, PAIR = "gpu-0-mig-3g-20gb-4-7", "gpus-0-1"


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the locks, in the order in which they were taken."""
    names: list[str] = []
    acquire = Locks.acquire

    def told(locks: Locks, name: str, *more: Any) -> int:
        names.append(name)
        return acquire(locks, name, *more)

    monkeypatch.setattr(Locks, "acquire", told)
    return names


@pytest.mark.parametrize("devices", [(PAIR,), ("gpu-1", HALF), (HALF, "gpu-1")])
def test_a_claim_takes_its_own_lock_and_then_its_gpus_by_uuid_whatever_their_kinds(
    linked_bench: Any, taken: list[str], devices: tuple[str, ...]
) -> None:
    gpus = sorted(f"gpu-{linked_bench.uuid(minor)}" for minor in (0, 1))

    linked_bench.prepare("u1", *devices)
    linked_bench.unprepare("u1")

    assert taken == ["claim-u1", *gpus] * 2


def test_several_devices_of_one_gpu_take_its_lock_once(bench: Any, taken: list[str]) -> None:
    bench.prepare("u1", HALF, "gpu-0-mig-1g-5gb-0")

    assert taken == ["claim-u1", f"gpu-{bench.uuid(0)}"]


def test_a_claim_that_was_allocated_anew_waits_for_the_gpu_that_it_gives_up(bench: Any) -> None:
    bench.prepare("u1", HALF)
    locks = Locks(path=bench.options.lock_file, wait_s=1, clock=bench.clock, sleep=bench.clock.sleep)

    with (
        locks.hold(f"gpu-{bench.uuid(0)}", "GPU", "test"),
        pytest.raises(LockTimeout, match=r"GPU 0 \(.*another process"),
    ):
        bench.prepare("u1", "gpu-1")

    assert len(bench.instances()) == 1
