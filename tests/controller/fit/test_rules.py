"""Selectors, affinity and taints mean what they mean to kube-scheduler."""

from __future__ import annotations

from typing import Any

import pytest

from controller.fit.rules import forbidden
from controller.model.nodes import read_node
from controller.model.placement import read_placement

SELECTOR = "did not match the pod's node selector"
AFFINITY = "did not match the pod's node affinity"
LABELS = {"disk": "fast", "cores": "8"}


def term(*expressions: tuple[Any, ...], fields: tuple[tuple[Any, ...], ...] = ()) -> dict[str, Any]:
    def rows(found: tuple[tuple[Any, ...], ...]) -> list[dict[str, Any]]:
        return [
            {"key": key, "operator": operator, "values": list(values)} for key, operator, *values in found
        ]

    made = {}
    if expressions:
        made["matchExpressions"] = rows(expressions)
    if fields:
        made["matchFields"] = rows(fields)
    return made


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


PREFERRED = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {}}]}
CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "no rule": ({}, None),
    "a selector that matches": ({"nodeSelector": {"disk": "fast"}}, None),
    "a selector of another value": ({"nodeSelector": {"disk": "slow"}}, SELECTOR),
    "a selector of a missing label": ({"nodeSelector": {"gpu": "a100"}}, SELECTOR),
    "one of two selectors": ({"nodeSelector": {"disk": "fast", "gpu": "a100"}}, SELECTOR),
    "In": (affinity(term(("disk", "In", "slow", "fast"))), None),
    "In without the value": (affinity(term(("disk", "In", "slow"))), AFFINITY),
    "NotIn": (affinity(term(("disk", "NotIn", "fast"))), AFFINITY),
    "NotIn of a missing label": (affinity(term(("gpu", "NotIn", "a100"))), None),
    "Exists": (affinity(term(("disk", "Exists"))), None),
    "DoesNotExist": (affinity(term(("disk", "DoesNotExist"))), AFFINITY),
    "Gt": (affinity(term(("cores", "Gt", "7"))), None),
    "Gt of an equal number": (affinity(term(("cores", "Gt", "8"))), AFFINITY),
    "Lt of a text": (affinity(term(("disk", "Lt", "8"))), AFFINITY),
    "all expressions of a term": (affinity(term(("disk", "Exists"), ("gpu", "Exists"))), AFFINITY),
    "one of two terms": (affinity(term(("gpu", "Exists")), term(("disk", "Exists"))), None),
    "the node's name": (affinity(term(fields=(("metadata.name", "In", "n"),))), None),
    "another name": (affinity(term(fields=(("metadata.name", "In", "m"),))), AFFINITY),
    "name and expression": (
        affinity(term(("gpu", "Exists"), fields=(("metadata.name", "In", "n"),))),
        AFFINITY,
    ),
    "an empty term matches nothing": (affinity({}), AFFINITY),
    "an empty term beside one that holds": (affinity({}, term(("disk", "Exists"))), None),
    "no terms match nothing": (affinity(), AFFINITY),
    "what is only preferred": ({"affinity": {"nodeAffinity": PREFERRED}}, None),
}


@pytest.mark.parametrize("case", CASES)
def test_selectors_and_affinity(case: str) -> None:
    spec, expected = CASES[case]
    node = read_node({"metadata": {"name": "n", "labels": LABELS}})
    assert forbidden(read_placement(spec), node) == expected


TAINT = {"key": "own", "value": "team", "effect": "NoSchedule"}
TOLERATED: dict[str, tuple[dict[str, str], bool]] = {
    "equal": ({"key": "own", "operator": "Equal", "value": "team", "effect": "NoSchedule"}, True),
    "equal by default": ({"key": "own", "value": "team"}, True),
    "every effect": ({"key": "own", "operator": "Exists"}, True),
    "every key": ({"operator": "Exists"}, True),
    "every key of this effect": ({"operator": "Exists", "effect": "NoSchedule"}, True),
    "another effect": ({"key": "own", "operator": "Exists", "effect": "NoExecute"}, False),
    "another value": ({"key": "own", "value": "others"}, False),
    "another key": ({"key": "mine", "operator": "Exists"}, False),
    "an operator that compares numbers": ({"key": "own", "operator": "Gt", "value": "team"}, False),
}


@pytest.mark.parametrize("case", TOLERATED)
def test_tolerations(case: str) -> None:
    toleration, is_tolerated = TOLERATED[case]
    node = read_node({"metadata": {"name": "n"}, "spec": {"taints": [TAINT]}})
    expected = None if is_tolerated else "had the untolerated taint own=team:NoSchedule"
    assert forbidden(read_placement({"tolerations": [toleration]}), node) == expected


@pytest.mark.parametrize(("effect", "keeps_out"), [("NoExecute", True), ("PreferNoSchedule", False)])
def test_the_effects_that_keep_pods_out(effect: str, keeps_out: bool) -> None:
    node = read_node({"metadata": {"name": "n"}, "spec": {"taints": [{"key": "own", "effect": effect}]}})
    expected = f"had the untolerated taint own:{effect}" if keeps_out else None
    assert forbidden(read_placement({}), node) == expected


def test_a_cordoned_node_takes_only_pods_that_tolerate_it() -> None:
    node = read_node({"metadata": {"name": "n"}, "spec": {"unschedulable": True}})
    tolerating = read_placement(
        {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}
    )
    assert forbidden(read_placement({}), node) == (
        "had the untolerated taint node.kubernetes.io/unschedulable:NoSchedule"
    )
    assert forbidden(tolerating, node) is None
