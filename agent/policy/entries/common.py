"""PURE: what the entries of GPUs and NICs have in common: lists, PCI addresses, attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agent.hardware.types import Bdf, normal_bdf
from agent.policy.model import Attributes, AttributeValue
from scheduler_core.base.limits import VALUE_LENGTH
from scheduler_core.codec.fields import Fields
from scheduler_core.model.names import is_driver, is_identifier

MOST: Final = 256
"""The most entries of any list."""
MOST_ATTRIBUTES: Final = 8
"""A device has at most 32 attributes and capacities, and most of these are the hardware's."""
_OTHERS: Final = ("tangram.dev", "kubernetes.io", "k8s.io", "nvidia.com")
"""Domains that other people give meanings to."""
_KEY_RULE: Final = (
    "must be DOMAIN/NAME: a domain of your own (none of {domains} and below), and letters, digits and '_'"
)


def refuse_silent(fields: Fields, says: tuple[str, ...]) -> None:
    """Refuse an entry that says nothing."""
    if not any(fields.has(one) for one in says):
        raise fields.refuse("", f"says nothing; it may have {', '.join(says)}")


def listed(fields: Fields, key: str, is_right: Callable[[str], bool], rule: str) -> tuple[str, ...] | None:
    """Return a list of strings, each once and in order, None where it is missing. Raises: InvalidPolicy."""
    if not fields.has(key):
        return None
    found = fields.texts(key, MOST)
    if not found:
        raise fields.refuse(key, "is empty, so it matches nothing")
    for index, text in enumerate(found):
        if not is_right(text):
            raise fields.refuse(f"{key}[{index}]", rule, text)
        if text in found[:index]:
            raise fields.refuse(f"{key}[{index}]", "is there twice", text)
    return found


def addresses(fields: Fields) -> frozenset[Bdf] | None:
    """Return ``pciAddresses``, None where it is missing. Raises: InvalidPolicy."""
    rule = "must be a PCI address such as 0000:3b:00.0"
    found = listed(fields, "pciAddresses", is_address, rule)
    return None if found is None else frozenset(map(normal_bdf, found))


def attributes(fields: Fields) -> Attributes:
    """Return the attributes that an entry publishes, by full name. Raises: InvalidPolicy."""
    if not fields.has("attributes"):
        return {}
    said = fields.child("attributes")
    if not 0 < len(said.values) <= MOST_ATTRIBUTES:
        raise said.refuse("", f"has {len(said.values)} entries; 1 to {MOST_ATTRIBUTES} are allowed")
    return {key: _value(said, key) for key in said.values}


def _value(said: Fields, key: str) -> AttributeValue:
    domain, _, name = key.partition("/")
    is_foreign = any(domain == one or domain.endswith(f".{one}") for one in _OTHERS)
    if not is_driver(domain) or is_foreign or not is_identifier(name, allows_dashes=False):
        raise said.refuse(key, _KEY_RULE.format(domains=", ".join(_OTHERS)), key)
    value = said.values[key]
    if not isinstance(value, str | int):
        raise said.refuse(key, "must be a string, an integer, or true or false", value)
    if isinstance(value, str) and not 0 < len(value.encode()) <= VALUE_LENGTH:
        raise said.refuse(key, f"must have 1 to {VALUE_LENGTH} bytes", value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise said.refuse(key, "must be an integer of 64 bits", value)
    return value


def is_address(text: str) -> bool:
    """Whether a text is a PCI address."""
    try:
        normal_bdf(text)
    except ValueError:
        return False
    return True
