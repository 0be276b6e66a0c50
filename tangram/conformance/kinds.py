"""Finds the kind of a case from its keys, so that new files of a known form need no new code."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass


class Kind(Enum):
    """The kinds of cases that this core answers."""

    SELECTOR = "an expression against a device"
    VALUE = "the value of an expression in Kubernetes' environment"
    NAMED = "what a claim gets, by the claim's name"
    LISTED = "what claims get, in their order"
    FEASIBLE = "whether claims fit, and what they get first"
    POD = "what an annotated pod gets"
    RULE = "one rule of the pod front end"
    CLASSES = "what resource classes select, count and give to pods"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A kind whose front end is not here. Shape: ``needs`` ends the sentence "needs ..."."""

    needs: str


def kind_of(content: Mapping[str, Any]) -> Kind | Unsupported | None:
    """Return the kind of a case, None where its keys say none."""
    return _unsupported(content) or _kind(content)


def _unsupported(content: Mapping[str, Any]) -> Unsupported | None:
    if content.get("listTypeAttributes") is False:
        return Unsupported("an expression language without lists")
    return None


def _kind(content: Mapping[str, Any]) -> Kind | None:
    expect = content.get("expect")
    expected = expect.keys() if isinstance(expect, Mapping) else set[str]()
    if "expression" in content:
        return Kind.VALUE if "kubernetes" in content else Kind.SELECTOR
    if {"pod", "node"} <= content.keys():
        return Kind.POD
    if {"kind", "input"} <= content.keys():
        return Kind.RULE
    if "slices" not in content:
        is_of_classes = "devices" in content and {"classes", "events"} & content.keys()
        return Kind.CLASSES if is_of_classes else None
    if "feasible" in expected:
        return Kind.FEASIBLE
    if "results" in expected or "error" in expected:
        return Kind.LISTED
    if isinstance(expect, Mapping) and expect.get("unschedulable") is True:
        return Kind.LISTED
    return Kind.NAMED
