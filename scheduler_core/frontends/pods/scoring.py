"""Scores of devices and nodes by how full they become, in percent. Source: Koordinator's deviceshare scorer.

All divisions are integer divisions, so that scores equal Koordinator's exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.nearest_cards import in_turn
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.pods.amounts import CARDS, MEMORY, RATIO, Amounts

_DEFAULT: Final = {name: 1 for name in (RATIO, MEMORY, *CARDS.values())}


class Fill(StrEnum):
    """Which device has the higher score: the emptier or the fuller one."""

    LEAST = "LeastAllocated"
    MOST = "MostAllocated"


@dataclass(frozen=True, slots=True)
class Scoring:
    """How devices are scored. Shape: ``weights`` by resource name; other resources do not count."""

    fill: Fill = Fill.LEAST
    weights: Mapping[str, int] = field(default_factory=lambda: dict(_DEFAULT))


def device_score(scoring: Scoring, request: Amounts, total: Amounts, free: Amounts) -> int:
    """Return the score of one device, 0 to 100. A resource without a request counts as zero requested."""
    points = weights = 0
    for name, weight in scoring.weights.items():
        whole = total.get(name, 0)
        if not weight or not whole:
            continue
        wanted = whole - free.get(name, 0) + request.get(name, 0)
        points += weight * _resource_score(scoring.fill, wanted, whole)
        weights += weight
    return points // weights if weights else 0


def node_score(
    scoring: Scoring,
    requests: Mapping[str, Amounts],
    total: Mapping[str, Sequence[Amounts]],
    free: Mapping[str, Sequence[Amounts]],
) -> int:
    """Return the score of a node: the sum over types, each scored as one large device."""
    return sum(
        device_score(scoring, request, _sum(total.get(kind, ())), _sum(free.get(kind, ())))
        for kind, request in requests.items()
    )


def order(
    node_devices: Sequence[NodeDevice], preferred_scopes: Sequence[str], preferred_numbers: Sequence[int]
) -> list[int]:
    """Return the numbers of devices in the order of choice: preferred numbers, then by score, then by number.

    Preferred scopes come first, one device of each in turn.
    """
    ranked = sorted(node_devices, key=lambda one: (one.number not in preferred_numbers, *one.order))
    close = [node_device.number for turn in in_turn(ranked, preferred_scopes) for node_device in turn]
    return [*close, *(node_device.number for node_device in ranked if node_device.number not in close)]


def _resource_score(fill: Fill, wanted: int, whole: int) -> int:
    match fill:
        case Fill.LEAST:
            return max(0, whole - wanted) * 100 // whole
        case Fill.MOST:
            return min(wanted, whole) * 100 // whole


def _sum(devices: Sequence[Amounts]) -> Amounts:
    found: dict[str, int] = {}
    for one in devices:
        for name, amount in one.items():
            found[name] = found.get(name, 0) + amount
    return found
