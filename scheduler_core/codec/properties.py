"""Attributes, capacities and node selections: the parts that both dialects share.

Decoders take every form that KEP-4815 prints (``{quantity: x}``, ``{value: x}``, a bare quantity; short
versions) and refuse all others by path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core import limits
from scheduler_core.codec.fields import Fields
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.nodes import AllNodes, Matching, NodeSelection, OnNode, Operator, Requirement
from scheduler_core.names import (
    IDENTIFIER_RULE,
    bare,
    domain_and_identifier,
    is_driver,
    is_identifier,
    qualified,
)
from scheduler_core.quantity import Quantity
from scheduler_core.version import RULE as VERSION_RULE
from scheduler_core.version import Version

_VALUE_KINDS: Final = ("bool", "int", "string", "version")
_AMOUNT_FORMS: Final = ("quantity", "value")


def read_attributes(fields: Fields, driver: str) -> dict[QualifiedName, AttributeValue]:
    """Return the attributes of ``fields`` by qualified name."""
    return {
        name: _attribute(Fields(fields.values[key], fields.subject, fields.at(key), fields.error))
        for name, key in _keys(fields, driver).items()
    }


def read_capacity(fields: Fields, driver: str) -> dict[QualifiedName, Quantity]:
    """Return the capacities of ``fields`` by qualified name."""
    return {name: read_amount(fields, key) for name, key in _keys(fields, driver).items()}


def read_amount(fields: Fields, key: str) -> Quantity:
    """Return one amount in any of the printed forms."""
    value = fields.values[key]
    if not isinstance(value, Mapping):
        return fields.quantity(key)
    inner = Fields(value, fields.subject, fields.at(key), fields.error)
    inner.only(*_AMOUNT_FORMS)
    forms = [form for form in _AMOUNT_FORMS if inner.has(form)]
    if len(forms) != 1:
        raise inner.refuse("", "must have exactly one of quantity and value")
    amount = inner.quantity(forms[0])
    if amount.nano < 0:
        raise inner.refuse(forms[0], "must not be negative", str(amount))
    return amount


def _keys(fields: Fields, driver: str) -> dict[QualifiedName, str]:
    """Check the keys of a property map and return them by qualified name."""
    found: dict[QualifiedName, str] = {}
    for key in fields.values:
        domain, identifier = domain_and_identifier(str(key))
        well_formed = is_identifier(identifier, allows_dashes=True) and (not domain or is_driver(domain))
        if not well_formed or str(key).startswith("/"):
            raise fields.refuse("", IDENTIFIER_RULE, key)
        name = qualified(key, driver)
        if name in found:
            raise fields.refuse(key, f"is listed twice, as {found[name]!r} and {key!r}: write own keys bare")
        found[name] = key
    return found


def _attribute(fields: Fields) -> AttributeValue:
    fields.only(*_VALUE_KINDS)
    kinds = [kind for kind in _VALUE_KINDS if fields.has(kind)]
    if len(kinds) != 1:
        raise fields.refuse("", f"must have exactly one of {', '.join(_VALUE_KINDS)}")
    match kinds[0]:
        case "bool":
            return fields.flag("bool")
        case "int":
            return fields.integer("int", least=-(2**63))
        case "string":
            return fields.text("string", rule=_short)
        case _:
            return _version(fields)


def _version(fields: Fields) -> Version:
    """Read a version; YAML turns an unquoted 12.6 into a number, which is what people meant."""
    value = fields.values["version"]
    text = str(value) if isinstance(value, float) else fields.text("version", rule=_short)
    try:
        return Version.parse(text)
    except ValueError:
        raise fields.refuse("version", VERSION_RULE, text) from None


def _short(text: str) -> str | None:
    size = len(text.encode())
    return None if size <= limits.VALUE_LENGTH else f"has {size} bytes; at most {limits.VALUE_LENGTH} allowed"


def write_attribute(value: AttributeValue, *, as_semver: bool = False) -> dict[str, Any]:
    """Return an attribute value as the API writes it."""
    match value:
        case bool():
            return {"bool": value}
        case int():
            return {"int": value}
        case str():
            return {"string": value}
        case Version():
            return {"version": value.semver if as_semver else value.text}


def write_attributes(
    attributes: Mapping[QualifiedName, AttributeValue], driver: str, *, as_semver: bool = False
) -> dict[str, Any]:
    """Return a property map of attributes, own keys bare, sorted."""
    return {
        bare(name, driver): write_attribute(attributes[name], as_semver=as_semver)
        for name in sorted(attributes, key=lambda name: bare(name, driver))
    }


def read_selection(fields: Fields) -> NodeSelection | None:
    """Return the node selection of a slice or device; None where none is set.

    Raises: the fields' error where more than one is set, or a selector is malformed.
    """
    chosen = [key for key in ("nodeName", "nodeSelector", "allNodes") if fields.values.get(key)]
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
