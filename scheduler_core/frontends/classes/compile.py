"""Compiles a resource class to a DeviceClass: one CEL expression that selects the same devices.

Takes a class; returns an API object. An expression that is too long or too expensive for API servers is
refused here.
"""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.limits import EXPRESSION_LENGTH
from scheduler_core.frontends.classes.errors import CannotCompile
from scheduler_core.frontends.classes.model import ResourceClass, Selector, ValueOperator, ValueRequirement
from scheduler_core.frontends.classes.readers import FALSE, KeyReader, TypeReader, readers_of
from scheduler_core.frontends.classes.values import value_of
from scheduler_core.rules.selectors import compile_selector

_RELATIONS: Final = {
    ValueOperator.GT: "> 0",
    ValueOperator.GT_EQ: ">= 0",
    ValueOperator.LT: "< 0",
    ValueOperator.LT_EQ: "<= 0",
}


def device_class_of(resource_class: ResourceClass) -> dict[str, Any]:
    """Return the DeviceClass of the same name that selects the same devices.

    Raises: CannotCompile for an expression that is too long or too expensive for API servers.
    """
    expression = expression_of(resource_class)
    size = len(expression.encode())
    if size > EXPRESSION_LENGTH:
        reason = f"its expression has {size} bytes; at most {EXPRESSION_LENGTH} are allowed"
        raise CannotCompile(resource_class.name, reason)
    try:
        compile_selector(expression)
    except SelectorError as error:
        raise CannotCompile(resource_class.name, error.reason) from error
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": resource_class.name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def expression_of(resource_class: ResourceClass) -> str:
    """Return the expression that is true for the devices that the class selects."""
    blocks = [_block(selector) for selector in resource_class.selectors if selector]
    return " || ".join(blocks) if blocks else FALSE


def _block(selector: Selector) -> str:
    return "(" + " && ".join(_requirement(one) for one in selector) + ")"


def _requirement(requirement: ValueRequirement) -> str:
    """Return the test of a requirement: the first place that the device has answers, else the next one."""
    answer = "true" if requirement.operator in (ValueOperator.NOT_IN, ValueOperator.DOES_NOT_EXIST) else FALSE
    for reader in reversed(readers_of(requirement.key)):
        test = _test(requirement, reader)
        if isinstance(reader, TypeReader) and answer == FALSE and test != "true":
            answer = test  # a device of that kind has a type
        else:
            answer = f"({reader.presence} ? {test} : {answer})"
    return answer


def _test(requirement: ValueRequirement, reader: KeyReader) -> str:
    wanted = [value_of(text) for text in requirement.values]
    match requirement.operator:
        case ValueOperator.EXISTS:
            return "true"
        case ValueOperator.DOES_NOT_EXIST:
            return FALSE
        case ValueOperator.IN | ValueOperator.EQ:
            return reader.compared(wanted, "== 0")
        case ValueOperator.NOT_IN:
            return f"!{reader.compared(wanted, '== 0')}"
        case ordered:
            return reader.compared(wanted, _RELATIONS[ordered])
