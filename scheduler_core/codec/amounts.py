"""Decodes and encodes capacities and counters, and the request policies of shareable devices.

All forms of an amount in the proposals are read: ``{quantity: x}``, ``{value: x}`` and a plain quantity. One
form is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.codec.attributes import read_keys
from scheduler_core.codec.decoded import Decoded
from scheduler_core.codec.fields import Fields
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import bare
from scheduler_core.model.policy import RequestPolicy

_Name = TypeVar("_Name", bound=str)
_FORMS: Final = ("quantity", "value")
_KEPT: Final = 4096
_alike: Final[Decoded[Mapping[Any, Quantity]]] = Decoded(_KEPT)
_capacities: Final[Decoded[Mapping[QualifiedName, Quantity]]] = Decoded(_KEPT)
_policies: Final[Decoded[Mapping[QualifiedName, RequestPolicy]]] = Decoded(_KEPT)


def read_capacity(fields: Fields, driver: str, known: bytes | None) -> Mapping[QualifiedName, Quantity]:
    """Return the capacities of ``fields`` by qualified name; ``known`` is their content.

    A node publishes few different mappings hundreds of times, so devices can be compared by identity.
    """
    found = _capacities.get((driver, known))
    if found is None:
        names = read_keys(fields, driver)
        found = shared({name: read_amount(fields, key) for name, key in names.items()})
        if known is not None:
            _capacities.put((driver, known), found)
    return found


def shared(amounts: Mapping[_Name, Quantity]) -> Mapping[_Name, Quantity]:
    """Return a mapping with the same amounts, one object for all that are alike however they are written."""
    # A kept mapping keeps its amounts alive: an id in a key is that of no other amount.
    key = (*amounts, *map(id, amounts.values()))
    known = _alike.get(key)
    return _alike.put(key, amounts) if known is None else known


def read_policies(fields: Fields, driver: str, known: bytes | None) -> Mapping[QualifiedName, RequestPolicy]:
    """Return the request policies of the capacities that have one; ``known`` is their content."""
    found = _policies.get((driver, known))
    if found is None:
        found = _read_policies(fields, driver)
        if known is not None:
            _policies.put((driver, known), found)
    return found


def _read_policies(fields: Fields, driver: str) -> dict[QualifiedName, RequestPolicy]:
    found = {}
    for name, key in read_keys(fields, driver).items():
        value = fields.values[key]
        if isinstance(value, Mapping) and value.get("requestPolicy") is not None:
            inner = Fields(value, fields.subject, fields.at(key), fields.error)
            found[name] = _policy(inner.child("requestPolicy"))
    return found


def read_amount(fields: Fields, key: str) -> Quantity:
    """Return one amount in any of the printed forms."""
    value = fields.values[key]
    if not isinstance(value, Mapping):
        return _not_negative(fields, key)
    inner = Fields(value, fields.subject, fields.at(key), fields.error)
    inner.only(*_FORMS, "requestPolicy")
    forms = [form for form in _FORMS if inner.has(form)]
    if len(forms) != 1:
        raise inner.refuse("", "must have exactly one of quantity and value")
    return _not_negative(inner, forms[0])


def _not_negative(fields: Fields, key: str) -> Quantity:
    amount = fields.quantity(key)
    if amount.nano < 0:
        raise fields.refuse(key, "must not be negative", str(amount))
    return amount


def _policy(fields: Fields) -> RequestPolicy:
    fields.only("default", "validValues", "validRange")
    if fields.has("validValues") and fields.has("validRange"):
        raise fields.refuse("", "must have at most one of validValues and validRange")
    values = fields.items("validValues", limits.VALID_VALUES)
    numbered = Fields(dict(enumerate(values)), fields.subject, fields.at("validValues"), fields.error)
    span = fields.optional("validRange")
    span.only("min", "max", "step")
    step = _optional(span, "step")
    if step is not None and step.nano <= 0:
        raise span.refuse("step", "must be above 0", str(step))
    return RequestPolicy(
        default=_optional(fields, "default"),
        values=tuple(sorted(numbered.quantity(index) for index in numbered.values)),
        least=_optional(span, "min"),
        most=_optional(span, "max"),
        step=step,
    )


def _optional(fields: Fields, key: str) -> Quantity | None:
    return fields.quantity(key) if fields.has(key) else None


def write_amounts(amounts: Mapping[str, Quantity]) -> dict[str, Any]:
    """Return amounts as v1 writes them."""
    return {name: {"value": str(amount)} for name, amount in amounts.items()}


def write_capacity(
    capacity: Mapping[QualifiedName, Quantity], policies: Mapping[QualifiedName, RequestPolicy], driver: str
) -> dict[str, Any]:
    """Return capacities with their policies as v1 writes them, own keys bare, sorted."""
    written = write_amounts({bare(name, driver): amount for name, amount in sorted(capacity.items())})
    for name, policy in policies.items():
        written[bare(name, driver)]["requestPolicy"] = write_policy(policy)
    return written


def write_policy(policy: RequestPolicy) -> dict[str, Any]:
    """Return a request policy as both dialects write it."""
    span = {"min": policy.least, "max": policy.most, "step": policy.step}
    written: dict[str, Any] = {}
    if policy.default is not None:
        written["default"] = str(policy.default)
    if policy.values:
        written["validValues"] = [str(value) for value in policy.values]
    if policy.least is not None:
        written["validRange"] = {key: str(value) for key, value in span.items() if value is not None}
    return written
