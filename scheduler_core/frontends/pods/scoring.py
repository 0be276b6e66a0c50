"""Scores of devices and nodes: how full they would be, in percent. Source: Koordinator's deviceshare scorer.

Integer division throughout, as there: a score is compared with theirs digit by digit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from scheduler_core.frontends.joint.nearest_cards import in_turn
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.frontends.pods.amounts import CARDS, MEMORY, RATIO, Amounts

_DEFAULT: Final = {name: 1 for name in (RATIO, MEMORY, *CARDS.values())}


class Fill(StrEnum):
    """Which device is better: the emptier or the fuller one."""

    LEAST = "LeastAllocated"
    MOST = "MostAllocated"


@dataclass(frozen=True, slots=True)
class Scoring:
    """How devices are scored. Shape: ``weights`` by resource name; others do not count."""

    fill: Fill = Fill.LEAST
    weights: Mapping[str, int] = field(default_factory=lambda: dict(_DEFAULT))


def device_score(scoring: Scoring, request: Amounts, total: Amounts, free: Amounts) -> int:
    """Return the score of one device, 0 to 100. What the request does not name counts as nothing asked."""
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
    """Return the score of a node: what each type scores as one large device, added up."""
    return sum(
        device_score(scoring, request, _sum(total.get(kind, ())), _sum(free.get(kind, ())))
        for kind, request in requests.items()
    )


def order(
    units: Sequence[NodeDevice], preferred_scopes: Sequence[str], preferred_numbers: Sequence[int]
) -> list[int]:
    """Return the numbers of units as cards are tried: preferred ones, then by score, then by number.

    With preferred scopes, in turn one of each of them before the second of any.
    """
    ranked = sorted(units, key=lambda one: (one.number not in preferred_numbers, *one.order))
    close = [unit.number for turn in in_turn(ranked, preferred_scopes) for unit in turn]
    return [*close, *(unit.number for unit in ranked if unit.number not in close)]


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
