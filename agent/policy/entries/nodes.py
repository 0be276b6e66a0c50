"""PURE: reads the node selector of a rule, and refuses one that no node can match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from agent.policy.model import Operator, Requirement
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration.fields import choice
from scheduler_core.model.names import is_driver

_MOST: Final = 64
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_KEY_RULE: Final = (
    "must be the key of a label: a name of at most 63 characters, with a domain and '/' before it or without"
)
_VALUE_RULE: Final = "must be the value of a label: at most 63 characters, letters, digits, '-', '_' and '.'"
_WITH_VALUES: Final = (Operator.IN, Operator.NOT_IN)


def read_nodes(rule: Fields) -> tuple[Requirement, ...]:
    """Return what a rule's ``nodes`` requires, nothing where it is for all nodes. Raises: InvalidPolicy."""
    if not rule.has("nodes"):
        return ()
    nodes = rule.child("nodes")
    nodes.only("matchLabels", "matchExpressions")
    found = (*_labels(nodes), *(_expression(one) for one in nodes.children("matchExpressions", _MOST)))
    if not found:
        raise nodes.refuse("", "selects no label; leave it out for a rule that is for all nodes")
    for key in dict.fromkeys(one.key for one in found):
        why = _why_impossible([one for one in found if one.key == key])
        if why:
            raise nodes.refuse("", f"matches no node: label {key} {why}")
    return found


def _labels(nodes: Fields) -> Iterator[Requirement]:
    if not nodes.has("matchLabels"):
        return
    labels = nodes.child("matchLabels")
    for key in labels.values:
        _refuse_key(labels, key, key)
        yield Requirement(key, Operator.IN, frozenset([labels.text(key, rule=_value_rule)]))


def _expression(fields: Fields) -> Requirement:
    fields.only("key", "operator", "values")
    key, operator = fields.text("key"), choice(fields, "operator", Operator)
    _refuse_key(fields, "key", key)
    values = fields.texts("values", _MOST)
    for index, value in enumerate(values):
        if _value_rule(value):
            raise fields.refuse(f"values[{index}]", _VALUE_RULE, value)
    if bool(values) != (operator in _WITH_VALUES):
        rule = f"operator {operator} needs values" if not values else f"operator {operator} has no values"
        raise fields.refuse("values", rule)
    return Requirement(key, operator, frozenset(values))


def _refuse_key(fields: Fields, field: str, key: str) -> None:
    domain, slash, name = key.rpartition("/")
    if (slash and not is_driver(domain)) or not _NAME.fullmatch(name):
        raise fields.refuse(field, _KEY_RULE, key)


def _value_rule(value: str) -> str | None:
    return None if not value or _NAME.fullmatch(value) else _VALUE_RULE


def _why_impossible(of_label: Sequence[Requirement]) -> str:
    """Return why no node can meet all requirements of one label, empty where one can."""
    wanted = [one.values for one in of_label if one.operator is Operator.IN]
    operators = {one.operator for one in of_label}
    if Operator.DOES_NOT_EXIST in operators and operators & {Operator.IN, Operator.EXISTS}:
        return "must exist and must not exist"
    unwanted = frozenset(value for one in of_label if one.operator is Operator.NOT_IN for value in one.values)
    if wanted and not frozenset.intersection(*wanted) - unwanted:
        return "can have none of the values that are asked for"
    return ""
