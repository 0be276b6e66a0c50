"""PURE: what is wrong with devices, as a table of the status page of agent and plugin.

A row is one finding with the devices that it concerns: what is wrong with a GPU is wrong with all its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from agent.health.causes import TABLE, Cause
from agent.health.findings import Finding, Findings, time_of
from agent.health.rules import HealthRules
from daemon.status.page import Row, Table, duration
from scheduler_core.model.device import DeviceName

_MOST_SHOWN: Final = 4  # devices of a row on the page; JSON has all of them


def causes_table(health: Findings, rules: HealthRules, now_s: float) -> Table:
    """Return the causes of ill health, the worst first. Units: ``now_s`` seconds since 1970."""
    rows = list(_rows(health, rules, now_s))
    return Table("causes", ("SEVERITY", "FOR", "TIMES", "CAUSE"), rows, _cells)


def ends(cause: Cause, rules: HealthRules) -> str:
    """Return what ends a cause by the rules."""
    quiet_s = rules.quiet(cause)
    if quiet_s is None:
        return TABLE[cause].heals
    return f"it has not come again for {quiet_s / 60:g} minutes"


def _rows(health: Findings, rules: HealthRules, now_s: float) -> Iterator[Row]:
    devices: dict[tuple[Finding, int], list[DeviceName]] = {}
    for name, found in health.items():
        for one in found:
            devices.setdefault((one, one.times), []).append(name)
    worst_first = sorted(devices, key=lambda key: (-key[0].severity.rank, key[0].since_s))
    for one, times in worst_first:
        yield {
            "cause": str(one.cause),
            "severity": str(one.severity),
            "since": time_of(one.since_s),
            "age_seconds": round(max(0.0, now_s - one.since_s), 1),
            "times": times,
            "xids": list(one.xids),
            "ends": ends(one.cause, rules),
            "why": str(one),
            "devices": _by_length(devices[one, times]),
        }


def _by_length(names: Iterable[DeviceName]) -> list[str]:
    """Return names in the order in which people look for them: a GPU before what is cut from it."""
    return sorted(map(str, names), key=lambda name: (len(name), name))


def _cells(row: Row) -> tuple[str, ...]:
    devices = row["devices"]
    more = len(devices) - _MOST_SHOWN
    shown = ", ".join(devices[:_MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
    text = f"{shown}: {row['why']}; what ends it: {row['ends']}"
    return row["severity"], duration(row["age_seconds"]), str(row["times"]), text
