"""PURE: the value of the page, which JSON can hold (docs/web.md).

Takes the occupancy of a cluster and the pods that wait. ``nodes`` has what becomes of a node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from controller.page.nodes import NOWHERE, NodeValues, fragmentation, is_used
from controller.page.waiting import WaitingPod
from scheduler_core.frontends.occupancy.values import (
    ClusterOccupancy,
)

FORMAT: Final = 1
DEFINITION: Final = (
    "the part of the room for further partitions that is lost by where the held devices are; "
    "0 % where moving them on their GPUs would make no room"
)


@dataclass(frozen=True, slots=True)
class About:
    """What is shown. Shape: ``made`` as the API writes times; ``is_live`` where a server tells changes."""

    title: str
    made: str
    is_live: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """The use of a cluster at a moment. Units: ``at`` seconds since 1970; shares from 0 to 1, or None."""

    at: float
    use: float | None
    fragmentation: float | None


def page_value(
    about: About,
    occupancy: ClusterOccupancy,
    waiting: Sequence[WaitingPod],
    history: Sequence[Point] = (),
    nodes: NodeValues | None = None,
) -> dict[str, Any]:
    """Return the value of the page. Shape: ``nodes`` has the nodes of the value before."""
    problems = [f"{one.name or NOWHERE}: {each}" for one in occupancy.nodes for each in one.problems]
    return {
        "format": FORMAT,
        "title": about.title,
        "made": about.made,
        "live": about.is_live,
        "claims": {
            str(one.claim): {"namespace": one.claim.namespace, "pods": list(one.pods)}
            for one in occupancy.holders
        },
        "nodes": (nodes or NodeValues()).of(occupancy.nodes),
        "namespaces": [
            {
                "namespace": one.namespace,
                "gpus": one.gpus,
                "used": one.memory_slices,
                "vfs": one.vfs,
                "others": one.others,
                "claims": one.claims,
            }
            for one in occupancy.namespaces
        ],
        "waiting": [_waiting(one) for one in waiting],
        "fragmentation": {"value": fragmentation(occupancy.room), "definition": DEFINITION},
        "history": [as_json(one) for one in history],
        "notes": [*about.notes, *problems],
    }


def as_json(point: Point) -> dict[str, float | None]:
    """Return a point as the page has it."""
    return {"at": point.at, "use": point.use, "fragmentation": point.fragmentation}


def use_of(occupancy: ClusterOccupancy) -> float | None:
    """Return the share of the cluster's memory slices that are in use, None where there are none."""
    slices = [one for node in occupancy.nodes for gpu in node.gpus for one in gpu.memory_slices]
    return sum(map(is_used, slices)) / len(slices) if slices else None


def fragmentation_of(occupancy: ClusterOccupancy) -> float | None:
    """Return the fragmentation of a cluster, None where it has no GPU with memory slices."""
    return fragmentation(occupancy.room)


def _waiting(pod: WaitingPod) -> Mapping[str, Any]:
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "since": pod.since,
        "reason": pod.reason,
        "details": list(pod.details),
    }
