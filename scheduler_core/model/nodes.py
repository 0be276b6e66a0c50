"""Nodes, and the selections that say from which nodes a device can be used.

Source: core/v1 NodeSelector; the node selection fields of ResourceSlice and its devices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass


class Operator(StrEnum):
    """The operators of a node selector requirement."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement on a label, or on the field ``metadata.name`` when ``is_field``."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    is_field: bool = False


@dataclass(frozen=True, slots=True)
class AllNodes:
    """Usable from every node."""


@dataclass(frozen=True, slots=True)
class OnNode:
    """Usable from one node, by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Matching:
    """Usable from the nodes that meet every requirement of the single term."""

    requirements: tuple[Requirement, ...]


NodeSelection = AllNodes | OnNode | Matching


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Usable from every node that one of some selections admits: a slice whose devices select nodes."""

    selections: tuple[NodeSelection, ...]


SliceSelection = NodeSelection | AnyOf
"""From which nodes some device of a slice can be used: only there does the slice count."""


NOWHERE: Final = Matching(
    (
        Requirement("tangram.dev/nowhere", Operator.EXISTS),
        Requirement("tangram.dev/nowhere", Operator.DOES_NOT_EXIST),
    )
)
"""Usable from no node: for a device that only supplies others. No label can meet both requirements."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its name, its labels, and the features that its kubelet declares."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    declared_features: frozenset[str] = frozenset()


def of_devices(selections: Iterable[NodeSelection]) -> SliceSelection:
    """Return the selection of a slice whose devices select nodes themselves. Without devices: no node."""
    found = tuple(dict.fromkeys(selections))
    if AllNodes() in found:
        return AllNodes()
    return found[0] if len(found) == 1 else AnyOf(found)


def admits(selection: SliceSelection, node: Node) -> bool:
    """Whether devices with this selection can be used from ``node``."""
    match selection:
        case AllNodes():
            return True
        case OnNode(name=name):
            return name == node.name
        case Matching(requirements=requirements):
            return all(_meets(requirement, node) for requirement in requirements)
        case AnyOf(selections=selections):
            return any(admits(one, node) for one in selections)


def _meets(requirement: Requirement, node: Node) -> bool:
    value = node.name if requirement.is_field else node.labels.get(requirement.key)
    match requirement.operator:
        case Operator.IN:
            return value is not None and value in requirement.values
        case Operator.NOT_IN:
            return value is None or value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.GT | Operator.LT:
            return _compares(requirement, value)


def _compares(requirement: Requirement, value: str | None) -> bool:
    """Compare as integers. A label that is no integer meets neither operator, as upstream."""
    try:
        found, wanted = int(value or ""), int(requirement.values[0])
    except ValueError:
        return False
    return found > wanted if requirement.operator is Operator.GT else found < wanted
