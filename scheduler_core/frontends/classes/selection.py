"""Which devices a class selects: any selector is enough, and all its requirements must be met."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler_core.frontends.classes.keys import names_versions
from scheduler_core.frontends.classes.model import ResourceClass, ValueOperator, ValueRequirement
from scheduler_core.frontends.classes.values import Value, equal, order, value_of


def selects(resource_class: ResourceClass, properties: Mapping[str, Value]) -> bool:
    """Whether a device with these properties belongs to the class. An empty selector selects nothing."""
    return any(
        bool(selector) and all(is_met(one, properties) for one in selector)
        for selector in resource_class.selectors
    )


def is_met(requirement: ValueRequirement, properties: Mapping[str, Value]) -> bool:
    """Whether a requirement is met. An absent key meets NotIn and DoesNotExist only."""
    present = properties.get(requirement.key)
    wanted = [value_of(text) for text in requirement.values]
    as_versions = names_versions(requirement.key)
    match requirement.operator:
        case ValueOperator.EXISTS:
            return present is not None
        case ValueOperator.DOES_NOT_EXIST:
            return present is None
        case ValueOperator.NOT_IN:
            return present is None or not any(equal(present, one, as_versions=as_versions) for one in wanted)
        case ValueOperator.IN | ValueOperator.EQ:
            return present is not None and any(equal(present, one, as_versions=as_versions) for one in wanted)
        case _ as ordered:
            return present is not None and _is_ordered(
                order(present, wanted[0], as_versions=as_versions), ordered
            )


def _is_ordered(relation: int | None, operator: ValueOperator) -> bool:
    """Whether the result of a comparison meets the operator. None, for incomparable values, never does."""
    if relation is None:
        return False
    match operator:
        case ValueOperator.GT:
            return relation > 0
        case ValueOperator.GT_EQ:
            return relation >= 0
        case ValueOperator.LT:
            return relation < 0
        case _:
            return relation <= 0
