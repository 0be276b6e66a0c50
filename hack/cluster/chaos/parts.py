"""The parts of the cluster that are killed, and how each comes back.

In go names of parts; they are dead when ``kill`` returns, and back when ``mend`` returns. Parts of the
launcher's are started here, containers by the kubelet.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from launcher.client import ClusterControl

_PROC = Path("/proc")
_PAUSE_S = 0.1
LEADER, WEBHOOK, REPLICA = "leader", "webhook", "controller"
_CONTAINERS: Final = {"agent": "agent", "plugin": "plugin"} | dict.fromkeys(
    (REPLICA, LEADER, WEBHOOK), "controller"
)
# In the order in which they are started again.
_LAUNCHED: Final = ("apiserver", "scheduler", "containerd", "kubelet")
_OF_NODES: Final = ("containerd", "kubelet")
PARTS: Final = (*_CONTAINERS, *_LAUNCHED)


def parts_of(*, has_controller: bool) -> tuple[str, ...]:
    """Return the parts that a cluster with Tangram's controller has, or one without."""
    return tuple(one for one in PARTS if has_controller or _CONTAINERS.get(one) != "controller")


class NotBack(Exception):
    """A part did not come back in time."""


@dataclass(frozen=True, slots=True)
class Process:
    """A running program of Tangram's. Shape: ``identity`` is the controller's pod, else empty."""

    pid: int
    program: str
    identity: str


def processes() -> Iterator[Process]:
    """Yield the agents, plugins and controllers that run in containers of this cluster."""
    for entry in os.listdir(_PROC):
        if entry.isdigit():
            try:
                words = (_PROC / entry / "cmdline").read_text().split("\0")
            except OSError:
                continue
            if words[1:3] == ["-P", "-m"] and words[3] in _CONTAINERS.values():
                option = "--identity="
                identity = next((one.removeprefix(option) for one in words if one.startswith(option)), "")
                yield Process(int(entry), words[3], identity)


class Parts:
    """The parts of one cluster with one real node.

    Shape: ``leader`` returns the pod that leads, empty where that is not known; ``expected`` says how many
           processes of each program there are when all is well. They are not counted at the beginning:
           pods of before may still be ending then.
    """

    def __init__(
        self, control: ClusterControl, node: str, leader: Callable[[], str], expected: Mapping[str, int]
    ) -> None:
        self._control, self._node, self._leader = control, node, leader
        self.expected = expected

    def kill(self, names: Collection[str]) -> tuple[str, ...]:
        """Kill these parts and return those that ran."""
        chosen = {name: self._chosen(name) for name in names}
        for name in _LAUNCHED:
            if name in names:
                self._control.kill(self._launched(name))
        for found in chosen.values():
            for process in found:
                _kill(process.pid)
        return tuple(name for name in names if name in _LAUNCHED or chosen[name])

    def mend(self, names: Collection[str]) -> None:
        """Start again what nobody else starts, and wait until it is ready."""
        for name in _LAUNCHED:
            if name in names:
                self._control.start(self._launched(name))

    def wait(self, limit_s: float) -> None:
        """Wait until every program runs again. Raises: NotBack naming what is missing."""
        end = time.monotonic() + limit_s
        while missing := missing_of(self.expected, _counted(processes())):
            if time.monotonic() > end:
                raise NotBack(f"not back after {limit_s:.0f} s: {', '.join(missing)}")
            time.sleep(_PAUSE_S)

    def _chosen(self, name: str) -> list[Process]:
        found = [one for one in processes() if one.program == _CONTAINERS.get(name)]
        leader = self._leader() if name in (LEADER, REPLICA) else ""
        if name == LEADER:
            return [one for one in found if one.identity == leader]
        if name == REPLICA:
            return [one for one in found if one.identity != leader][:1]
        return found

    def _launched(self, name: str) -> str:
        return f"{name}-{self._node}" if name in _OF_NODES else name


def missing_of(expected: Mapping[str, int], running: Mapping[str, int]) -> list[str]:
    """Return of which programs fewer run than are expected.

    More may run: one whose start containerd gave up when it was killed, and which its shim started anyway.
    """
    return [
        f"{program}: {running.get(program, 0)} of {count}"
        for program, count in expected.items()
        if running.get(program, 0) < count
    ]


def _counted(found: Iterator[Process]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in found:
        counts[one.program] = counts.get(one.program, 0) + 1
    return counts


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended by itself
