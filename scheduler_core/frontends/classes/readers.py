"""CEL text for the places where a key may be found: a test for presence, and a test for each value.

A reader is for one place: an attribute, a capacity, or a row of the table of keys. Its text fails on no
device, whatever types the attributes have, and is cheap enough for API servers.
"""

from __future__ import annotations

import json
from typing import Final, Protocol

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.base.version import Version
from scheduler_core.frontends.classes.keys import KIND, KINDS, TYPE, KeyRow, KindRow, row_of
from scheduler_core.frontends.classes.values import BYTES, PREFIXED, SPELLING, VERSION, Amount, Value
from scheduler_core.model.names import domain_and_identifier

FALSE: Final = "false"
# The cost of comparing types is unbounded in the estimate; that of lists with one type is not.
_TEXT: Final = '([type(v)] == [string] || [type(v)] == [int] || [type(v)] == [bool] ? string(v) : "")'
_IS_NUMBER: Final = "[type(v)] == [int]"
_IS_VERSION: Final = '[type(v)] == [type(semver("0.0.0"))]'


class KeyReader(Protocol):
    """One place where a key may be found."""

    @property
    def presence(self) -> str:
        """Return the expression that is true where the device has this place."""
        ...

    def compared(self, wanted: Value, relation: str) -> str:
        """Return the expression that compares the present value. Shape: ``relation`` such as ``>= 0``."""
        ...


def readers_of(key: str) -> tuple[KeyReader, ...]:
    """Return the places of a key. The first one that a device has counts."""
    own: tuple[KeyReader, ...] = (Attribute(key), Capacity(key))
    row = row_of(key)
    if key == KIND:
        return (*own, TypeReader())
    if row is None:
        return own
    return (*own, Scaled(row) if row.unit else Attribute(row.attribute))


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute. Without a domain it is the driver's own."""

    key: str

    @property
    def presence(self) -> str:
        """Return the expression that is true where the device has this place."""
        return _presence("attributes", self.key)

    def compared(self, wanted: Value, relation: str) -> str:
        """Return the expression that compares the attribute by its type: text, number, boolean or version."""
        match wanted:
            case Amount():
                test = f"[{_TEXT}].exists(t, {_amount_in_text(wanted, relation)})"
            case Version():
                version = f"compareTo(semver({_quoted(wanted.semver)})) {relation}"
                in_text = f"t.matches({_quoted(f'^{VERSION}$')}) && semver(t).{version}"
                test = f"({_IS_VERSION} ? v.{version} : [{_TEXT}].exists(t, {in_text}))"
            case str():
                test = f"{_TEXT} == {_quoted(wanted)}"
        return f"[{_at('attributes', self.key)}].exists(v, {test})"


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity. Without a domain it is the driver's own."""

    key: str

    @property
    def presence(self) -> str:
        """Return the expression that is true where the device has this place."""
        return _presence("capacity", self.key)

    def compared(self, wanted: Value, relation: str) -> str:
        """Return the expression that compares the capacity. Capacities have no unit word."""
        if not isinstance(wanted, Amount) or wanted.unit:
            return FALSE
        return f"{_at('capacity', self.key)}.{_compared(wanted, relation)}"


@dataclass(frozen=True, slots=True)
class Scaled:
    """An attribute whose numbers have a unit."""

    row: KeyRow

    @property
    def presence(self) -> str:
        """Return the expression that is true where the device has this place."""
        return _presence("attributes", self.row.attribute)

    def compared(self, wanted: Value, relation: str) -> str:
        """Return the expression that compares the attribute with amounts of its unit."""
        if not isinstance(wanted, Amount) or wanted.unit != self.row.unit:
            return FALSE
        amount = f"quantity(string(v) + {_quoted(self.row.prefix)}).{_compared(wanted, relation)}"
        return f"[{_at('attributes', self.row.attribute)}].exists(v, {_IS_NUMBER} && {amount})"


@dataclass(frozen=True, slots=True)
class TypeReader:
    """The kind of a device, by its type."""

    @property
    def presence(self) -> str:
        """Return the expression that is true where the table has the type."""
        return "(" + " || ".join(_is_kind(row) for row in KINDS) + ")"

    def compared(self, wanted: Value, relation: str) -> str:
        """Return the expression that says whether the device is of the kind."""
        rows = [row for row in KINDS if row.kind == wanted and relation == "== 0"]
        return _is_kind(rows[0]) if rows else FALSE


def _is_kind(row: KindRow) -> str:
    name = Attribute(TYPE)
    parts = [name.presence, name.compared(row.type, "== 0")]
    if row.required is not None:
        parts.append(_presence("attributes", row.required))
    return f"({' && '.join(parts)})"


def _amount_in_text(wanted: Amount, relation: str) -> str:
    """Return the comparison of text ``t``: as a quantity, or as a number with the wanted unit word."""
    word = wanted.unit or BYTES
    number = f"t.upperAscii().substring(0, t.size() - {len(word)})"
    for capitals, prefix in SPELLING:
        number += f".replace({_quoted(capitals)}, {_quoted(prefix)})"
    plain = f"quantity(t).{_compared(wanted, relation)}" if not wanted.unit else FALSE
    pattern = _quoted(f"^{PREFIXED}{word}$")
    with_word = f"[{number}].exists(n, isQuantity(n) && quantity(n).{_compared(wanted, relation)})"
    return f"isQuantity(t) ? {plain} : t.upperAscii().matches({pattern}) && {with_word}"


def _compared(wanted: Amount, relation: str) -> str:
    return f"compareTo(quantity({_quoted(str(Quantity(wanted.nano)))})) {relation}"


def _presence(field: str, key: str) -> str:
    domain, identifier = domain_and_identifier(key)
    return f"{_quoted(identifier)} in device.{field}[{_domain(domain)}]"


def _at(field: str, key: str) -> str:
    domain, identifier = domain_and_identifier(key)
    return f"device.{field}[{_domain(domain)}][{_quoted(identifier)}]"


def _domain(domain: str) -> str:
    return _quoted(domain) if domain else "device.driver"


def _quoted(text: str) -> str:
    """Return a text as a CEL literal. JSON's escapes mean the same there."""
    return json.dumps(text)
