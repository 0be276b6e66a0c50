"""CEL text for the places where a key may be found: a test for presence, and a test of the present value.

A reader is for one place: an attribute, a capacity, or a row of the table of keys. Its text fails on no
device, whatever types the attributes have, and is cheap enough for API servers. It reads and compares values
as ``values.order`` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.classes.keys import KIND, KINDS, TYPE, KeyRow, KindRow, names_versions, row_of
from scheduler_core.frontends.classes.values import BYTES, PREFIXED, SPELLING, VERSION, Value, value_of
from scheduler_core.model.names import domain_and_identifier

FALSE: Final = "false"
# The cost of comparing types is unbounded in the estimate; that of lists with one type is not.
_TEXT: Final = '([type(v)] == [string] || [type(v)] == [int] || [type(v)] == [bool] ? string(v) : "")'
_IS_NUMBER: Final = "[type(v)] == [int]"
_IS_VERSION: Final = '[type(v)] == [type(semver("0.0.0"))]'
_READS_AS_VERSION: Final = f"t.matches({json.dumps(f'^{VERSION}$')})"


class KeyReader(Protocol):
    """One place where a key may be found."""

    @property
    def presence(self) -> str:
        """Return the expression that is true where the device has this place."""
        ...

    def compared(self, wanted: Sequence[Value], relation: str) -> str:
        """Return the expression that is true if the present value has a relation to any of the wanted ones.

        Shape: ``relation`` such as ``>= 0``.
        """
        ...


def readers_of(key: str) -> tuple[KeyReader, ...]:
    """Return the places of a key. The first one that a device has counts."""
    as_versions = names_versions(key)
    own: tuple[KeyReader, ...] = (Attribute(key, as_versions), Capacity(key))
    row = row_of(key)
    if key == KIND:
        return (*own, TypeReader())
    if row is None:
        return own
    return (*own, Scaled(row) if row.unit else Attribute(row.attribute, as_versions))


def any_of(tests: Iterable[str]) -> str:
    """Return the expression that is true if one of the tests is."""
    possible = [test for test in dict.fromkeys(tests) if test != FALSE]
    return f"({' || '.join(possible)})" if possible else FALSE


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute. Without a domain it is the driver's own."""

    key: str
    as_versions: bool = False

    @property
    def presence(self) -> str:
        """Return the expression that is true where the device has this place."""
        return _presence("attributes", self.key)

    def compared(self, wanted: Sequence[Value], relation: str) -> str:
        """Return the expression that compares the attribute by its type: text, number, boolean or version."""
        versions = any_of(_versions("v", wanted, relation))
        if _are_texts(wanted):
            test = any_of(f"{_TEXT} == {_quoted(one.text)}" for one in wanted)
        else:
            test = f"[{_TEXT}].exists(t, {_in_text(wanted, relation, self.as_versions)})"
        if versions != FALSE:
            test = f"({_IS_VERSION} ? {versions} : {test})"
        return f"[{_at('attributes', self.key)}].exists(v, {test})"


@dataclass(frozen=True, slots=True)
class Capacity:
    """A capacity. Without a domain it is the driver's own."""

    key: str

    @property
    def presence(self) -> str:
        """Return the expression that is true where the device has this place."""
        return _presence("capacity", self.key)

    def compared(self, wanted: Sequence[Value], relation: str) -> str:
        """Return the expression that compares the capacity. Capacities have no unit word."""
        return any_of(_amounts(_at("capacity", self.key), wanted, "", relation))


@dataclass(frozen=True, slots=True)
class Scaled:
    """An attribute whose numbers have a unit."""

    row: KeyRow

    @property
    def presence(self) -> str:
        """Return the expression that is true where the device has this place."""
        return _presence("attributes", self.row.attribute)

    def compared(self, wanted: Sequence[Value], relation: str) -> str:
        """Return the expression that compares the attribute with amounts of its unit."""
        number = f"quantity(string(v) + {_quoted(self.row.prefix)})"
        test = any_of(_amounts(number, wanted, self.row.unit, relation))
        place = _at("attributes", self.row.attribute)
        return _guarded(f"[{place}].exists(v, {_IS_NUMBER} && ", test, ")")


@dataclass(frozen=True, slots=True)
class TypeReader:
    """The kind of a device, by its type."""

    @property
    def presence(self) -> str:
        """Return the expression that is true where the table has the type."""
        return any_of(_is_kind(row) for row in KINDS)

    def compared(self, wanted: Sequence[Value], relation: str) -> str:
        """Return the expression that is true for a device of one of the kinds. Kinds have no order."""
        kinds = {one.text for one in wanted} if relation == "== 0" else ()
        return any_of(_is_kind(row) for row in KINDS if row.kind in kinds)


def _is_kind(row: KindRow) -> str:
    name = Attribute(TYPE)
    parts = [name.presence, name.compared([value_of(row.type)], "== 0")]
    if row.required is not None:
        parts.append(_presence("attributes", row.required))
    return f"({' && '.join(parts)})"


def _are_texts(wanted: Sequence[Value]) -> bool:
    return all(one.amount is None and one.version is None for one in wanted)


def _in_text(wanted: Sequence[Value], relation: str, as_versions: bool) -> str:
    """Return the comparison of text ``t``.

    A text that reads as an amount and as a version is compared in both ways, but each wanted value that has
    both readings in one way only: as a version if ``as_versions``, else as an amount.
    """
    words = {one.amount.unit or BYTES for one in wanted if one.amount is not None}
    others = [_with_word(wanted, word, relation) for word in sorted(words)]
    others += [f"t == {_quoted(one.text)}" for one in wanted if _are_texts([one])]
    amounts = any_of(_amounts("quantity(t)", wanted, "", relation))
    versions = _parsed(wanted, relation)
    if as_versions:
        only_amounts = [one for one in wanted if one.version is None]
        rest = _guarded("isQuantity(t) && ", any_of(_amounts("quantity(t)", only_amounts, "", relation)))
        no_version = f"isQuantity(t) ? {amounts} : {any_of(others)}"
        return f"{_READS_AS_VERSION} ? {any_of([versions, rest])} : {no_version}"
    only_versions = [one for one in wanted if one.amount is None]
    rest = _guarded(f"{_READS_AS_VERSION} && ", _parsed(only_versions, relation))
    others.append(_guarded(f"{_READS_AS_VERSION} && ", versions))
    return f"isQuantity(t) ? {any_of([amounts, rest])} : {any_of(others)}"


def _guarded(before: str, test: str, after: str = "") -> str:
    return FALSE if test == FALSE else f"{before}{test}{after}"


def _parsed(wanted: Sequence[Value], relation: str) -> str:
    """Return the comparison of text ``t``, which reads as a version, with the wanted versions."""
    return _guarded("[semver(t, true)].exists(s, ", any_of(_versions("s", wanted, relation)), ")")


def _with_word(wanted: Sequence[Value], word: str, relation: str) -> str:
    """Return the comparison of text ``t`` as a number with a unit word."""
    number = f"t.upperAscii().substring(0, t.size() - {len(word)})"
    for capitals, prefix in SPELLING:
        number += f".replace({_quoted(capitals)}, {_quoted(prefix)})"
    test = any_of(_amounts("quantity(n)", wanted, "" if word == BYTES else word, relation))
    pattern = _quoted(f"^{PREFIXED}{word}$")
    return f"t.upperAscii().matches({pattern}) && [{number}].exists(n, isQuantity(n) && {test})"


def _amounts(present: str, wanted: Sequence[Value], unit: str, relation: str) -> list[str]:
    """Return the comparisons of a CEL quantity with the wanted amounts of a unit."""
    amounts = [one.amount for one in wanted if one.amount is not None and one.amount.unit == unit]
    quantities = [_quoted(str(Quantity(one.nano))) for one in amounts]
    return [f"{present}.compareTo(quantity({one})) {relation}" for one in quantities]


def _versions(present: str, wanted: Sequence[Value], relation: str) -> list[str]:
    """Return the comparisons of a CEL semver with the wanted versions."""
    versions = [_quoted(one.version.semver) for one in wanted if one.version is not None]
    return [f"{present}.compareTo(semver({one})) {relation}" for one in versions]


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
