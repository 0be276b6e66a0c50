"""Decodes and encodes the attributes of devices and mixins, and the keys of property maps.

All forms in the proposals are read: a value object, a plain string, short versions. Other forms are refused
with their path.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from scheduler_core.base import limits
from scheduler_core.base.version import RULE as VERSION_RULE
from scheduler_core.base.version import Version
from scheduler_core.codec.decoded import Decoded, content
from scheduler_core.codec.fields import Fields
from scheduler_core.model.device import AttributeValue, QualifiedName, Scalar
from scheduler_core.model.names import (
    IDENTIFIER_RULE,
    bare,
    domain_and_identifier,
    is_driver,
    is_identifier,
    qualified,
)

_attributes: Final[Decoded[Mapping[QualifiedName, AttributeValue]]] = Decoded(4096)
_keys: Final[Decoded[Mapping[QualifiedName, str]]] = Decoded(1024)
_texts: Final[Decoded[AttributeValue]] = Decoded(1 << 14)
_INT: Final = 2**63
_SCALARS: Final = ("bool", "int", "string", "version")
_KINDS: Final[Mapping[type[Scalar], str]] = {bool: "bool", int: "int", str: "string", Version: "version"}
_LISTS: Final = ("bools", "ints", "strings", "versions")


def read_attributes(fields: Fields, driver: str) -> Mapping[QualifiedName, AttributeValue]:
    """Return the attributes of ``fields`` by qualified name. Equal attributes give one object."""
    known = content(fields.values)
    found = _attributes.get((driver, known))
    if found is None:
        found = read_new_attributes(fields, driver)
        if known is not None:
            _attributes.put((driver, known), found)
    return found


def read_new_attributes(fields: Fields, driver: str) -> Mapping[QualifiedName, AttributeValue]:
    """Return the same where it is known that no equal attributes came before.

    Equal texts and versions give one object. The loop is fast for the form that nearly all attributes have.
    """
    names, found = read_keys(fields, driver), dict[QualifiedName, AttributeValue]()
    for (name, key), written in zip(names.items(), fields.values.values(), strict=True):
        if type(written) is dict and len(written) == 1:
            ((kind, value),) = written.items()
            if type(value) is str:
                known = _texts.get((kind, value))
                found[name] = _texts.put((kind, value), _attribute(fields, key)) if known is None else known
                continue
            if type(value) is int and kind == "int" and -_INT <= value < _INT:
                found[name] = value
                continue
        found[name] = _attribute(fields, key)
    return found


def read_keys(fields: Fields, driver: str) -> Mapping[QualifiedName, str]:
    """Check the keys of a property map and return them by qualified name."""
    keys = (driver, *fields.values)
    found = _keys.get(keys)
    if found is None:
        found = _read_keys(fields, driver)
        if all([type(key) is str for key in keys]):  # True and 1 are equal and written differently
            _keys.put(keys, found)
    return found


def _read_keys(fields: Fields, driver: str) -> dict[QualifiedName, str]:
    found: dict[QualifiedName, str] = {}
    for key in fields.values:
        name = _qualified(str(key), driver)
        if name is None:
            raise fields.refuse("", IDENTIFIER_RULE, key)
        if name in found:
            raise fields.refuse(key, f"is listed twice, as {found[name]!r} and {key!r}: write own keys bare")
        found[name] = key
    return found


@lru_cache(maxsize=4096)
def _qualified(key: str, driver: str) -> QualifiedName | None:
    """Return the qualified name of a key, None for an invalid key. Equal keys give the same object."""
    domain, identifier = domain_and_identifier(key)
    well_formed = is_identifier(identifier, allows_dashes=True) and (not domain or is_driver(domain))
    return qualified(key, driver) if well_formed and not key.startswith("/") else None


def _attribute(parent: Fields, key: str) -> AttributeValue:
    if isinstance(parent.values[key], str):
        return parent.text(key, rule=_short)
    fields = Fields(parent.values[key], parent.subject, parent.at(key), parent.error)
    fields.only(*_SCALARS, *_LISTS)
    kinds = [kind for kind in (*_SCALARS, *_LISTS) if fields.has(kind)]
    if len(kinds) != 1:
        raise fields.refuse("", f"must have exactly one of {', '.join((*_SCALARS, *_LISTS))}")
    if kinds[0] in _SCALARS:
        return _scalar(fields, kinds[0])
    values = fields.items(kinds[0], limits.LIST_VALUES)
    if not values:
        raise fields.refuse(kinds[0], "must not be empty")
    kind = kinds[0].removesuffix("s")
    items = (
        Fields({kind: v}, parent.subject, f"{fields.at(kinds[0])}[{i}]", parent.error)
        for i, v in enumerate(values)
    )
    return tuple(_scalar(item, kind) for item in items)


def _scalar(fields: Fields, kind: str) -> Scalar:
    match kind:
        case "bool":
            return fields.flag("bool")
        case "int":
            return fields.integer("int", least=-_INT)
        case "string":
            return fields.text("string", rule=_short)
        case _:
            return _version(fields)


def _version(fields: Fields) -> Version:
    """Read a version. YAML reads an unquoted 12.6 as a number, which is allowed."""
    value = fields.values["version"]
    text = str(value) if isinstance(value, float) else fields.text("version", rule=_short)
    try:
        return _parsed(text)
    except ValueError:
        raise fields.refuse("version", VERSION_RULE, text) from None


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Version:
    """Read a version. Equal texts give the same object."""
    return Version.parse(text)


def _short(text: str) -> str | None:
    size = len(text.encode())
    return None if size <= limits.VALUE_LENGTH else f"has {size} bytes; at most {limits.VALUE_LENGTH} allowed"


def write_attributes(
    attributes: Mapping[QualifiedName, AttributeValue], driver: str, *, as_semver: bool = False
) -> dict[str, Any]:
    """Return a sorted property map of attributes, own keys without their domain."""
    named = {bare(name, driver): value for name, value in attributes.items()}
    return {name: _written(named[name], as_semver) for name in sorted(named)}


def _written(value: AttributeValue, as_semver: bool) -> dict[str, Any]:
    if isinstance(value, tuple):
        return {f"{_kind(value[0])}s": [_plain(item, as_semver) for item in value]}
    return {_kind(value): _plain(value, as_semver)}


def _kind(value: Scalar) -> str:
    kind = _KINDS.get(type(value))
    return kind or next(kind for scalar, kind in _KINDS.items() if isinstance(value, scalar))


def _plain(value: Scalar, as_semver: bool) -> bool | int | str:
    if isinstance(value, Version):
        return value.semver if as_semver else value.text
    return value
