"""Node selections of slices, devices and results, from and to dictionaries."""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.codec.fields import Fields
from scheduler_core.model.nodes import AllNodes, Matching, NodeSelection, OnNode, Operator, Requirement

SELECTION: Final = ("nodeName", "nodeSelector", "allNodes")
"""The fields that select nodes."""


def read_selection(fields: Fields) -> NodeSelection | None:
    """Return the node selection of a slice or device; None where none is set.

    Raises: the fields' error where more than one is set, or a selector is malformed.
    """
    chosen = [key for key in SELECTION if fields.values.get(key)]
    if len(chosen) > 1:
        raise fields.refuse("", f"must have only one of nodeName, nodeSelector, allNodes; has {chosen}")
    match chosen:
        case ["nodeName"]:
            return OnNode(fields.text("nodeName"))
        case ["nodeSelector"]:
            return Matching(_requirements(fields.child("nodeSelector")))
        case ["allNodes"]:
            fields.flag("allNodes")
            return AllNodes()
        case _:
            return None


def _requirements(selector: Fields) -> tuple[Requirement, ...]:
    selector.only("nodeSelectorTerms")
    terms = list(selector.children("nodeSelectorTerms"))
    if len(terms) != 1:
        raise selector.refuse("nodeSelectorTerms", f"has {len(terms)} terms; must have exactly one")
    terms[0].only("matchExpressions", "matchFields")
    expressions = [_requirement(child, is_field=False) for child in terms[0].children("matchExpressions")]
    matched_fields = [_requirement(child, is_field=True) for child in terms[0].children("matchFields")]
    if not expressions and not matched_fields:
        raise terms[0].refuse("", "has no requirement and would match no node")
    return (*matched_fields, *expressions)


def _requirement(fields: Fields, *, is_field: bool) -> Requirement:
    fields.only("key", "operator", "values")
    text = fields.text("operator")
    if text not in set(Operator):
        raise fields.refuse("operator", f"must be one of {', '.join(Operator)}", text)
    operator, values, key = Operator(text), fields.texts("values"), fields.text("key")
    if is_field and key != "metadata.name":
        raise fields.refuse("key", "only metadata.name can be matched as a field", key)
    match operator:
        case Operator.IN | Operator.NOT_IN if not values:
            raise fields.refuse("values", f"must not be empty with {operator}")
        case Operator.EXISTS | Operator.DOES_NOT_EXIST if values:
            raise fields.refuse("values", f"must be empty with {operator}")
        case Operator.GT | Operator.LT if len(values) != 1:
            raise fields.refuse("values", f"must be one integer with {operator}")
    return Requirement(key, operator, values, is_field)


def write_selection(selection: NodeSelection) -> dict[str, Any]:
    """Return the node selection fields of a slice or device."""
    match selection:
        case AllNodes():
            return {"allNodes": True}
        case OnNode(name=name):
            return {"nodeName": name}
        case Matching(requirements=requirements):
            return {"nodeSelector": write_selector(requirements)}


def write_selector(requirements: tuple[Requirement, ...]) -> dict[str, Any]:
    """Return a node selector of one term."""
    term: dict[str, Any] = {}
    for requirement in requirements:
        entry: dict[str, Any] = {"key": requirement.key, "operator": str(requirement.operator)}
        if requirement.values:
            entry["values"] = list(requirement.values)
        term.setdefault("matchFields" if requirement.is_field else "matchExpressions", []).append(entry)
    return {"nodeSelectorTerms": [term]}
