"""B16: the agent looks at a node with 2,000 VFs, and describes it.

The files are those of the simulated machine; the readers are those of a real one. A first look has nothing to
compare with, as at the agent's start; a look after which nothing has changed is the usual one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import monotonic, perf_counter_ns, process_time_ns
from typing import Final

from agent.hardware.ports import Readers
from agent.hardware.reuse import ReuseUnchanged
from agent.inventory import discover
from agent.looks import Looks
from agent.options import Options
from agent.publishing.forms import Found
from tangram.bench.machine import DRIVER, NODE
from tangram.bench.report import MS, Report, Row, Unit, times
from tangram.bench.settings import Settings

_VFS: Final = 2000
_FIRST_LOOKS: Final = 5
_LOOKS: Final = 40


def looking(settings: Settings) -> Report:
    """Time first looks, looks without change, and looks after the number of VFs has changed."""
    count = settings.count or _VFS
    with settings.dgx.with_vfs(count) as machine:
        settings.say("looking")
        first = [_timed(partial(_look, machine.readers, _looks())) for _ in range(_FIRST_LOOKS)]
        looks, readers = _looks(), machine.readers.reusing(ReuseUnchanged(monotonic))
        before = _look(readers, looks)
        again = [_timed(partial(_look, readers, looks)) for _ in range(_LOOKS)]
        started = process_time_ns()
        after = _look(readers, looks)
        ran = process_time_ns() - started
        nic = next(iter(discover(machine.readers, NODE).nics)).function.bdf
        machine.nics.functions.set_vf_count(nic, 0)
        changed = _timed(partial(_look, readers, looks))
    devices = before.devices.by_name
    wrong = [] if after == before else ["an unchanged node was described in another way"]
    wrong += [] if sum("-vf-" in name for name in devices) == count else ["VFs are missing"]
    rows: tuple[Row, ...] = (
        times("first look, with the description", first, 1000 * MS),
        times("a look without change", again, 50 * MS, f"{ran / MS:.0f} ms of processor time"),
        Row(case="a look after one NIC's VFs are gone", unit=Unit.NANOSECONDS, median=changed),
    )
    title = f"looks at a node of {len(devices):,} devices, {count:,} of them VFs"
    return Report(name="B16", title=title, rows=rows, wrong=tuple(wrong))


def _looks() -> Looks:
    return Looks(Options(driver_name=DRIVER, node_name=NODE), None, dict)


def _look(readers: Readers, looks: Looks) -> Found:
    return looks.found(discover(readers, NODE))


def _timed(look: Callable[[], object]) -> int:
    started = perf_counter_ns()
    look()
    return perf_counter_ns() - started
