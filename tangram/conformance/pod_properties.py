"""What cases of annotated pods accept: properties of the devices that a pod got.

Each property is a table of ``kind`` and the values it needs. Returns a sentence for each
property that is not met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduler_core.base.errors import InvalidInput
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.annotations.labels import label_selector

_LISTS = {"gpu": "gpus", "rdma": "nics", "fpga": "fpgas"}


def failing(
    properties: Sequence[Mapping[str, Any]], answer: Mapping[str, Any], content: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a sentence for each property that the answer lacks."""
    given = _Given(answer, content)
    for one in properties:
        if not given.has(one):
            yield f"the answer lacks {dict(one)}: {answer}"


class _Given:
    """An answer, as properties ask about it."""

    def __init__(self, answer: Mapping[str, Any], content: Mapping[str, Any]) -> None:
        self._answer = answer
        self._content = content
        self._node = content["node"]

    def has(self, wanted: Mapping[str, Any]) -> bool:
        """Whether the answer has a property. An unknown property counts as not met."""
        return self._about_minors(wanted) or self._about_place(wanted) or self._about_vfs(wanted)

    def _about_minors(self, wanted: Mapping[str, Any]) -> bool:
        match wanted:
            case {"kind": "count", "type": kind, "n": count}:
                return len(self._minors(kind)) == int(count)
            case {"kind": "minors", "type": kind, "minors": minors}:
                return self._minors(kind) == set(minors)
            case {"kind": "minors_in", "type": kind, "minors": minors}:
                return self._minors(kind) <= set(minors)
            case {"kind": "minors_not_in", "type": kind, "minors": minors}:
                return not self._minors(kind) & set(minors)
            case {"kind": "is_partition", "type": kind}:
                table = self._node.get("partition_table") or {}
                return any(
                    self._minors(kind) == set(one["minors"]) for rows in table.values() for one in rows
                )
            case {"kind": "fits"}:
                return all(self._fits(kind, minor) for kind in self._answer for minor in self._minors(kind))
            case _:
                return False

    def _about_place(self, wanted: Mapping[str, Any]) -> bool:
        match wanted:
            case {"kind": "same_pcie_sets", "types": kinds}:
                return len({frozenset(self._pcie(kind)) for kind in kinds}) == 1
            case {"kind": "pcie_within", "type": kind, "of": other}:
                return set(self._pcie(kind)) <= set(self._pcie(other))
            case {"kind": "covers_pcie_of", "type": kind, "of": other}:
                return set(self._pcie(kind)) >= set(self._pcie(other))
            case {"kind": "one_per_pcie_of", "type": kind, "of": other}:
                return sorted(self._pcie(kind), key=str) == sorted(set(self._pcie(other)), key=str)
            case {"kind": "single_pcie", "type": kind}:
                return len(set(self._pcie(kind))) == 1
            case {"kind": "single_numa", **names}:
                kinds = names.get("types") or [names["type"]]
                return (
                    len({self._device(kind, one)["numa"] for kind in kinds for one in self._minors(kind)})
                    == 1
                )
            case {"kind": "min_pcie_span", "type": kind}:
                return len(set(self._pcie(kind))) <= self._least_span(kind)
            case _:
                return False

    def _about_vfs(self, wanted: Mapping[str, Any]) -> bool:
        match wanted:
            case {"kind": "vfs_per_device", "type": kind, "n": count}:
                return all(len(one["vfs"]) == int(count) for one in self._answer.get(kind, ()))
            case {"kind": "vf_free", "type": kind}:
                used = {vf["busID"] for one in self._in_use(kind) for vf in one.get("vfs") or ()}
                return not used & {vf["busID"] for one in self._answer.get(kind, ()) for vf in one["vfs"]}
            case {"kind": "vf_labels", "type": kind, "selector": selector}:
                fields = Fields({"selector": selector}, "case", "accept", InvalidInput)
                labels = label_selector(fields, "selector")
                return labels is not None and all(map(labels.admits, self._vf_labels(kind)))
            case _:
                return False

    def _minors(self, kind: str) -> set[int]:
        return {one["minor"] for one in self._answer.get(kind, ())}

    def _device(self, kind: str, minor: int) -> Mapping[str, Any]:
        found: Mapping[str, Any] = next(one for one in self._node[_LISTS[kind]] if one["minor"] == minor)
        return found

    def _pcie(self, kind: str) -> list[Any]:
        return [self._device(kind, minor).get("pcie") for minor in self._minors(kind)]

    def _in_use(self, kind: str) -> list[Mapping[str, Any]]:
        return [one for one in self._content.get("in_use") or () if one["type"] == kind]

    def _fits(self, kind: str, minor: int) -> bool:
        full = {one["minor"] for one in self._in_use(kind) if "resources" not in one}
        return self._device(kind, minor).get("health") is not False and minor not in full

    def _least_span(self, kind: str) -> int:
        """Return the fewest PCIe groups that have as many free devices as the answer."""
        used = {one["minor"] for one in self._in_use(kind)}
        free: dict[Any, int] = {}
        for one in self._node[_LISTS[kind]]:
            if one["minor"] not in used and one.get("health") is not False:
                free[one.get("pcie")] = free.get(one.get("pcie"), 0) + 1
        needed, groups = len(self._minors(kind)), 0
        for count in sorted(free.values(), reverse=True):
            if needed > 0:
                needed, groups = needed - count, groups + 1
        return groups

    def _vf_labels(self, kind: str) -> Iterator[Mapping[str, str]]:
        for one in self._answer.get(kind, ()):
            names = {vf["busID"] for vf in one["vfs"]}
            for vf in self._device(kind, one["minor"]).get("vfs") or ():
                if vf["busID"] in names:
                    yield vf.get("labels") or {}
