"""A MIG instance that cannot be destroyed because a monitor has its GPU open: the monitor is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from gpu_programs import CLIENT, Started, programs, said

from plugin.base.errors import HardwareFailed

HALF = "gpu-0-mig-3g-20gb-4-7"
MONITOR = """
import sys
from pathlib import Path

opened = open(sys.argv[1])
Path("/proc/self/comm").write_text(sys.argv[2])
print("open", flush=True)
sys.stdin.read()
"""
"""Has a device node open until its input ends."""


@pytest.fixture
def started() -> Iterator[Started]:
    with programs() as start:
        yield start


@pytest.fixture
def refused(bench: Any) -> Any:
    """Return why an instance that is still in use could not be destroyed."""

    def unprepare() -> HardwareFailed:
        bench.inject("gpu-0:destroy-compute-instance:in-use:1")
        with pytest.raises(HardwareFailed) as refusal:
            bench.unprepare("u1")
        assert refusal.value.retry
        return refusal.value

    return unprepare


def test_a_monitor_that_leaks_a_handle_is_named_where_it_keeps_an_instance(
    bench: Any, started: Started, refused: Any
) -> None:
    """DCGM leaks handles of MIG devices, which keep them, and nvidia-smi lists no process (DCGM#276)."""
    bench.prepare("u1", HALF)
    monitor = started(MONITOR, bench.simulated.root / "dev/nvidia0", "nv-hostengine")
    assert said(monitor) == "open"

    error = refused()

    assert f"nv-hostengine ({monitor.pid}) has the GPU open and runs nothing on it" in str(error)
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_several_monitors_are_named_together(bench: Any, started: Started, refused: Any) -> None:
    bench.prepare("u1", HALF)
    node = bench.simulated.root / "dev/nvidia0"
    pids = {name: started(MONITOR, node, name) for name in ("dcgm", "top")}
    assert [said(one) for one in pids.values()] == ["open", "open"]

    text = str(refused())

    assert all(f"{name} ({one.pid})" in text for name, one in pids.items())
    assert "have the GPU open and run nothing on it" in text


def test_programs_on_the_gpu_are_not_named_since_they_may_be_another_tenants(
    bench: Any, started: Started, refused: Any
) -> None:
    bench.prepare("u1", HALF)
    assert said(started(CLIENT, bench.simulated.directory, 0, "train"))

    text = str(refused())

    assert "train" not in text
    assert "find the process that uses it" in text
