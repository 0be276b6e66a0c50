"""Where a pod may run by its own rules: node selector, node affinity, tolerations, a named node.

Takes a pod's spec; returns a value that is equal for pods with equal rules. Source: core/v1 PodSpec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller.model.checked import name, pairs, text, texts
from scheduler_core.model.nodes import Operator, Requirement

_AFFINITY: Final = "spec.affinity.nodeAffinity[]"


@dataclass(frozen=True, slots=True)
class NodeTaint:
    """A taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class PodToleration:
    """Taints of nodes that a pod tolerates. Shape: empty ``key`` and ``effect`` mean all."""

    key: str
    operator: str
    value: str
    effect: str

    def covers(self, taint: NodeTaint) -> bool:
        """Whether the taint is tolerated."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator == "Equal" and bool(self.key) and self.value == taint.value


@dataclass(frozen=True, slots=True)
class Placement:
    """The rules of a pod. Shape: ``terms`` None where every node will do; else one of them must hold."""

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[PodToleration, ...] = ()


def read_placement(spec: Mapping[str, Any]) -> Placement:
    """Return the rules of a pod's spec."""
    node_affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return Placement(
        selector=pairs(spec.get("nodeSelector"), "spec.nodeSelector"),
        terms=None if required is None else tuple(_terms(required)),
        tolerations=tuple(dict.fromkeys(map(_toleration, spec.get("tolerations") or ()))),
    )


def _terms(required: Mapping[str, Any]) -> Iterator[tuple[Requirement, ...]]:
    """Yield the requirements of each term. A term without any matches no node."""
    for term in required.get("nodeSelectorTerms") or ():
        fields = [_requirement(one, is_field=True) for one in term.get("matchFields") or ()]
        expressions = [_requirement(one, is_field=False) for one in term.get("matchExpressions") or ()]
        if fields or expressions:
            yield (*fields, *expressions)


def _requirement(term: Mapping[str, Any], *, is_field: bool) -> Requirement:
    return Requirement(
        key=name(term["key"], f"{_AFFINITY}.key"),
        operator=Operator(term["operator"]),
        values=texts(term.get("values"), f"{_AFFINITY}.values"),
        is_field=is_field,
    )


def _toleration(one: Mapping[str, Any]) -> PodToleration:
    return PodToleration(
        key=text(one.get("key"), "spec.tolerations[].key"),
        operator=text(one.get("operator"), "spec.tolerations[].operator") or "Equal",
        value=text(one.get("value"), "spec.tolerations[].value"),
        effect=text(one.get("effect"), "spec.tolerations[].effect"),
    )
