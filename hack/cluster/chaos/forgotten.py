"""Containers that run although their runtime believes that they never started.

A kubelet that is killed while containerd starts a container for it leaves such a process: containerd gives
the start up and calls the container created, its shim has started it all the same, and the next kubelet
starts another one beside it. Neither ends the first one before its pod's sandbox goes. In go the node's
processes and the files in which containerd keeps the state of its containers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

_CONTAINERS = "io.containerd.grpc.v1.cri/containers"
_PROGRAM = "/holder.py"
_STARTED_TICKS = 19  # its place in /proc/PID/stat behind the program's name
_LONG_S = 5.0
"""Longer than a runtime takes to write down that a container runs."""


@dataclass(frozen=True, slots=True)
class Container:
    """The process of a container of the campaign. Units: seconds since it started."""

    pid: int
    pod: str
    owner: str
    age_s: float


def forgotten(proc: Path, runtime: Path) -> list[Container]:
    """Return the containers of the campaign that the runtime does not know.

    Shape: those that have run for a while, or beside which a younger one of their pod runs that it knows.
    """
    running = list(_running(proc))
    known = set(_known(runtime))
    youngest: dict[str, float] = {}
    for one in running:
        if one.pid in known:
            youngest[one.pod] = min(one.age_s, youngest.get(one.pod, inf))
    # One that ended meanwhile was known, and is not any more.
    return [
        one
        for one in running
        if one.pid not in known
        and one.age_s > min(_LONG_S, youngest.get(one.pod, inf))
        and (proc / str(one.pid) / "exe").is_symlink()
    ]


def _running(proc: Path) -> Iterator[Container]:
    uptime_s = float((proc / "uptime").read_text().split()[0])
    for entry in os.listdir(proc):
        if not entry.isdigit():
            continue
        try:
            words = (proc / entry / "cmdline").read_text().split("\0")
            ticks = (proc / entry / "stat").read_text().rpartition(")")[2].split()[_STARTED_TICKS]
        except OSError:
            continue
        if words[3:4] and words[3].endswith(_PROGRAM):
            age_s = uptime_s - int(ticks) / os.sysconf("SC_CLK_TCK")
            yield Container(int(entry), words[6], words[7], age_s)


def _known(runtime: Path) -> Iterator[int]:
    for path in (runtime / _CONTAINERS).glob("*/status"):
        try:
            status: dict[str, Any] = json.loads(path.read_text())
        except (OSError, ValueError):
            continue  # it goes, or it is written just now
        if not status.get("FinishedAt"):
            yield int(status["Pid"])
