"""B17: eight claims of one call, each for a partition of another GPU, beside calls with one claim.

Making a GPU instance takes 0.2 s, as if the GPU were slow: it measures whether one claim waits for another.
The plugin has its records on a disk and in memory: a record survives a power cut, so a disk is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from tangram.bench.machine import GPUS, small_partition
from tangram.bench.prepare.plugin_process import DeviceClaim, PluginProcess, plugin_process
from tangram.bench.report import Report, Row, times
from tangram.bench.settings import Settings

_COUNT: Final = 16
_SLOW: Final = "create-gpu-instance:slow=0.2"
_MOST: Final = 1.3
"""How many times the time of one claim those of all GPUs may take."""
_ON_DISK: Final = "/var/tmp"  # noqa: S108 - what is there survives a reboot, so it is on a disk


def side_by_side(settings: Settings) -> Report:
    """Time calls with one claim and with one for each GPU."""
    rows: list[Row] = []
    wrong: list[str] = []
    for where, place in (("records on a disk", _ON_DISK), ("records in memory", None)):
        settings.say(where)
        folder = TemporaryDirectory(prefix="tg-", dir=place) if place else nullcontext()
        with folder as own, plugin_process(Path(own) if own else None) as (plugin, machine):
            claims = [DeviceClaim(device=small_partition(gpu, 0)) for gpu in range(GPUS)]
            _turn(plugin, claims, 0)  # the plugin makes the machine, and first calls load modules
            settings.dgx.attached(machine).inject([f"gpu-{gpu}:{_SLOW}" for gpu in range(GPUS)])
            turns = [_turn(plugin, claims, number) for number in range(settings.count or _COUNT)]
            wrong += [*plugin.wrong, *plugin.leftovers()]
        rows += _rows(where, [one for one, _ in turns], [every for _, every in turns])
    return Report(name="B17", title="claims of one call side by side", rows=tuple(rows), wrong=tuple(wrong))


def _rows(where: str, one: Sequence[int], every: Sequence[int]) -> tuple[Row, Row]:
    ratio = f"{median(every) / median(one):.2f} times one claim"
    return (
        times(f"one claim, {where}", one),
        times(f"{GPUS} claims of one call, {where}", every, int(_MOST * median(one)), ratio),
    )


def _turn(plugin: PluginProcess, claims: Sequence[DeviceClaim], number: int) -> tuple[int, int]:
    """Return the time of a call with one of the claims, and of one with all of them, in nanoseconds."""
    claim = claims[number % len(claims)]
    one = plugin.prepare(claim)
    plugin.unprepare(claim)
    every = plugin.prepare(*claims)
    for each in claims:
        plugin.unprepare(each)
    return one, every
