"""What a case accepts besides the one answer that it prints: properties of an answer.

Each property is a table of ``kind`` and the values it needs. Returns a sentence for each
property that is not met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from scheduler_core.model.claim import AllocatedDevice
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation
from tangram.conformance.situation import Situation
from tangram.conformance.state import pools_seen
from tangram.conformance.validity import violations


def failing(
    properties: Sequence[Mapping[str, Any]], answer: Allocation, situation: Situation
) -> Iterator[str]:
    """Yield a sentence for each property that the answer lacks; a rule that it breaks is always one."""
    for sentence in violations(answer, situation):
        yield f"the answer is not valid: {sentence}"
    given = _Given(answer, situation)
    for one in properties:
        if not given.has(one):
            yield f"the answer lacks {one}"


class _Given:
    """An answer, as properties ask about it: all results together."""

    def __init__(self, answer: Allocation, situation: Situation) -> None:
        self._results = [result for results in answer.results.values() for result in results]
        self._attributes = {
            pool.id_of(device): device.attributes
            for pool in pools_seen(situation, Node(answer.node))
            for device in pool.devices
        }

    def has(self, wanted: Mapping[str, Any]) -> bool:
        match wanted:
            case {"kind": "valid"}:
                return True  # asked of every answer already
            case {"kind": "devicesFrom", "request": name, "devices": devices}:
                return {one.device.device for one in self._of([name])} <= set(devices)
            case {"kind": "count", "request": name, "n": count}:
                return len(self._of([name])) == int(count)
            case {"kind": "sameAttribute", "attribute": key}:
                values = {_typed(value) for value in self._values(key, self._results)}
                return len(values) == 1 and ("value" not in wanted or _only(values) == wanted["value"])
            case {"kind": "distinctAttribute", "attribute": key}:
                values_in_order = [_typed(value) for value in self._values(key, self._results)]
                return all(one != other for one, other in combinations(values_in_order, 2))
            case {"kind": "sameSet", "attribute": key, "requests": names}:
                return len({self._set(key, name) for name in names}) == 1
            case {"kind": "overlap", "attribute": key, "requests": names, "min": least}:
                common = frozenset.intersection(*(self._set(key, name) for name in names))
                return len(common) >= int(least)
            case _:
                return False  # an unknown property counts as not met

    def _of(self, names: Sequence[str]) -> list[AllocatedDevice]:
        return [one for one in self._results if one.request in names or one.request.split("/")[0] in names]

    def _values(self, key: str, results: Sequence[AllocatedDevice]) -> list[AttributeValue | None]:
        return [self._attributes.get(one.device, {}).get(QualifiedName(key)) for one in results]

    def _set(self, key: str, request: str) -> frozenset[object]:
        return frozenset(_typed(value) for value in self._values(key, self._of([request])))


def _typed(value: AttributeValue | None) -> tuple[str, object]:
    """Return a value with its type: True is not 1."""
    return type(value).__name__, value


def _only(values: set[tuple[str, object]]) -> object:
    ((_, value),) = values
    return value
