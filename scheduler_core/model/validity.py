"""Which values API servers accept in a device: rules of ``resource.k8s.io/v1``, a function for each. Pure.

Whoever publishes asks before it sends: a server refuses the whole slice for one value, and a value that no
integer of the API holds is refused before the server knows of which device it is.
Source: ``resource.k8s.io/v1`` types and their validation, Kubernetes 1.37.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from scheduler_core.base import limits
from scheduler_core.base.quantity import NANO, Quantity
from scheduler_core.base.version import Version
from scheduler_core.model.device import AttributeValue, Scalar
from scheduler_core.model.names import domain_and_identifier, is_driver, is_identifier

_MOST_INTEGER: Final = 2**63 - 1
"""Of attributes and of amounts. Servers cut a larger amount down to it without a word."""
_SHOWN: Final = 40


def why_not_attribute(name: str, value: AttributeValue) -> str | None:
    """Return why a server would refuse an attribute, None where it takes it. Shape: ``name`` is qualified."""
    if not _is_key(name):
        return f"{_shown(name)} is no name of an attribute"
    values = value if isinstance(value, tuple) else (value,)
    if not 0 < len(values) <= limits.LIST_VALUES:
        return f"a list has 1 to {limits.LIST_VALUES} values, this one {len(values)}"
    return next((why for one in values if (why := _why_not_scalar(one)) is not None), None)


def why_not_amount(name: str, amount: Quantity) -> str | None:
    """Return why a server would refuse a capacity or store another one, None where it takes it."""
    if not _is_key(name):
        return f"{_shown(name)} is no name of a capacity"
    if amount.nano < 0:
        return f"{_shown(amount)} is negative"
    return f"{_shown(amount)} is more than 64 bits hold" if amount.nano > _MOST_INTEGER * NANO else None


@lru_cache(maxsize=1024)
def _is_key(name: str) -> bool:
    domain, identifier = domain_and_identifier(name)
    return is_driver(domain) and is_identifier(identifier, allows_dashes=True)


def _why_not_scalar(value: Scalar) -> str | None:
    match value:
        case bool():
            return None
        case int():
            is_small = -_MOST_INTEGER - 1 <= value <= _MOST_INTEGER
            return None if is_small else f"{_number(value)} is more than 64 bits hold"
        case Version():
            return _why_not_text(value.semver)
        case str():
            return _why_not_text(value)


def _why_not_text(text: str) -> str | None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return f"{_shown(text)} is no Unicode text"
    most = limits.VALUE_LENGTH
    return None if size <= most else f"{_shown(text)} has {size} bytes; at most {most} are allowed"


def _number(value: int) -> str:
    """Return an integer for people. Python refuses to print very long ones."""
    return str(value) if value.bit_length() < _SHOWN * 3 else f"a number of {value.bit_length()} bits"


def _shown(value: object) -> str:
    text = ascii(str(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
