"""B13: a plugin prepares VFs over its socket: beside MIG partitions in one run, and all VFs of all NICs.

In the second part each setting of a VF takes 0.2 s, as if the NIC's firmware were slow: it measures whether
one NIC waits for another. Else the simulated machine answers at once: the first part is the plugin's time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter_ns
from typing import Final

from tangram.bench.machine import Dgx, small_partition
from tangram.bench.prepare.plugin_process import DeviceClaim, PluginProcess, plugin_process
from tangram.bench.report import Report, times
from tangram.bench.settings import Settings

_COUNT: Final = 200
_VF: Final = "-vf-"
_AT_ONCE: Final = 8
_SLOW: Final = "machine:set-vf-settings:slow=0.2"
_SETTING: Final = {"kind": "VfConfig", "linkState": "enable"}
_MOST: Final = 1.5
"""How many times the time of one NIC's VFs those of all NICs may take."""


def preparing(settings: Settings) -> Report:
    """Time calls for one VF and for many."""
    nics = _vfs_by_nic(settings.dgx)
    first, second = list(nics.values())[:2]
    with plugin_process() as (plugin, folder):
        cases = (
            DeviceClaim(device=small_partition(0, 0)),
            DeviceClaim(device=first[0]),
            DeviceClaim(device=second[0], parameters=_SETTING),
        )
        partition, vf, configured = _in_turns(plugin, cases, settings.count or _COUNT)
        settings.dgx.attached(folder).inject([_SLOW])
        settings.say("many VFs")
        one = _together(plugin, first)
        every = _together(plugin, [vfs[index] for index in range(len(first)) for vfs in nics.values()])
        wrong = (*plugin.wrong, *plugin.leftovers())
    mig = times("MIG partition", partition)
    count = sum(map(len, nics.values()))
    rows = (
        mig,
        times("RDMA VF", vf, int(mig.median), "the MIG partition of the same run"),
        times("RDMA VF with a setting of its NIC", configured),
        times(f"{len(first)} VFs of one NIC", [one], note="each setting takes 0.2 s"),
        times(
            f"{count} VFs of {len(nics)} NICs, {_AT_ONCE} at a time",
            [every],
            int(_MOST * one),
            f"{every / one:.2f} times one NIC's",
        ),
    )
    return Report(name="B13", title="NodePrepareResources over the socket", rows=rows, wrong=wrong)


def _vfs_by_nic(dgx: Dgx) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for device in dgx.pool().devices:
        nic, is_vf, _ = device.name.partition(_VF)
        if is_vf:
            found.setdefault(nic, []).append(device.name)
    return found


def _in_turns(plugin: PluginProcess, cases: Sequence[DeviceClaim], count: int) -> Sequence[Sequence[int]]:
    """Prepare and undo each claim in turn, many times, and return the times of each in nanoseconds."""
    found: Sequence[list[int]] = tuple([] for _ in cases)
    for _ in range(count + 1):
        for claim, taken in zip(cases, found, strict=True):
            taken.append(plugin.prepare(claim))
            plugin.unprepare(claim)
    return [taken[1:] for taken in found]  # the first calls load modules


def _together(plugin: PluginProcess, vfs: Sequence[str]) -> int:
    """Prepare VFs, some at once, undo them, and return how long preparing took, in nanoseconds."""
    claims = [DeviceClaim(device=vf, parameters=_SETTING) for vf in vfs]
    with ThreadPoolExecutor(_AT_ONCE) as callers:
        started = perf_counter_ns()
        list(callers.map(plugin.prepare, claims))
        took = perf_counter_ns() - started
        list(callers.map(plugin.unprepare, claims))
    return took
