"""What devices have where an expression reads, and what was probably meant by a value that none has.

Takes a selector and the devices before it; returns the values found, in their order, and the nearest one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.cel.view import DeviceView
from scheduler_core.model.device import AttributeValue
from scheduler_core.model.funnel import ValuesPresent
from scheduler_core.rules.selectors import Selector

_READS: Final = 4  # attributes of one expression that are looked at
_ALIKE: Final = 0.5  # of difflib's measure, 1 for equal texts
_SIZES_ALIKE: Final = 0.5  # numbers that differ by more are of another thing
_DIGITS: Final = re.compile(r"([0-9]+)")
_Value = AttributeValue | Quantity


def values_present(selector: Selector, views: Sequence[DeviceView]) -> tuple[ValuesPresent, ...]:
    """Return what the devices have of everything that an expression reads.

    Shape: by domain and name; empty where the expression computes what it reads, or reads no attribute and
           no capacity.
    """
    reads = sorted(one for one in selector.reads or () if one[0] != "driver" and one[2])
    return tuple(_present(selector, read, views) for read in reads[:_READS])


def present(name: str, values: Iterable[_Value | None], wanted: Sequence[str | int] = ()) -> ValuesPresent:
    """Return the values of several devices, None for a device that has none."""
    known = list(values)
    found = Counter(text for value in known if value is not None for text in _texts(value))
    ordered = {text: found[text] for text in sorted(found, key=natural)}
    asked = tuple(map(str, wanted))
    return ValuesPresent(
        name=name,
        found=ordered,
        without=sum(value is None for value in known),
        wanted=asked,
        nearest=None if not asked or set(asked) & found.keys() else _nearest(asked[0], list(ordered)),
    )


def _present(selector: Selector, read: tuple[str, str, str], views: Sequence[DeviceView]) -> ValuesPresent:
    kind, domain, identifier = read
    maps = [one.attributes if kind == "attributes" else one.capacity for one in views]
    values = [_scalar(one[domain].get(identifier)) for one in maps]
    found = present(f"{domain}/{identifier}", values, selector.compared(read))
    if found.found:
        return found
    names = Counter(f"{where}/{name}" for one in maps for where, inside in one.items() for name in inside)
    return ValuesPresent(
        name=found.name,
        found={},
        without=found.without,
        wanted=found.wanted,
        nearest=_nearest_name(domain, identifier, names),
    )


def _nearest_name(domain: str, identifier: str, names: Mapping[str, int]) -> str | None:
    """Return the name that was probably meant: one much like it in its domain, else the same in another."""
    mine = {one.rpartition("/")[2]: one for one in names if one.rpartition("/")[0] == domain}
    lower = {one.lower(): name for one, name in mine.items()}
    close = get_close_matches(identifier.lower(), list(lower), 1)
    if close:
        return lower[close[0]]
    return next((one for one in sorted(names) if one.rpartition("/")[2] == identifier), None)


def _nearest(wanted: str, found: Sequence[str]) -> str | None:
    """Return the value that was probably meant, of several that are alike the one whose numbers are nearest.

    A value with other sizes is another thing, not a misspelling: 1g.24gb may mean 1g.23gb, never 1g.47gb.
    """
    if wanted.isdigit():
        numbers = [one for one in found if one.isdigit()]
        return min(numbers, key=lambda one: abs(int(one) - int(wanted)), default=None)
    alike = {one: distance for one in found if (distance := number_distance(wanted, one)) <= _SIZES_ALIKE}
    same_form = [one for one in alike if _DIGITS.sub("0", one.lower()) == _DIGITS.sub("0", wanted.lower())]
    if same_form:
        return min(same_form, key=lambda one: alike[one])
    close = get_close_matches(wanted, list(alike), 1, _ALIKE)
    return close[0] if close else None


def number_distance(one: str, other: str) -> float:
    """Return how far apart the numbers in two texts are: 0 for equal ones, 1 if one is twice the other.

    Texts with different counts of numbers have no sizes to compare, and are at distance 0.
    """
    pairs = [[int(number) for number in _DIGITS.findall(text)] for text in (one, other)]
    if len(pairs[0]) != len(pairs[1]):
        return 0.0
    return max(
        (max(a, b) / max(1, min(a, b)) - 1 if a != b else 0.0 for a, b in zip(*pairs, strict=True)),
        default=0.0,
    )


def _scalar(value: object) -> _Value | None:
    """Return a value of a view as the model has it: a list is a tuple there."""
    if isinstance(value, list):
        return tuple(value)
    return value  # type: ignore[return-value]  # views hold the values of the model


def _texts(value: _Value) -> Iterator[str]:
    for one in value if isinstance(value, tuple) else (value,):
        yield str(one).lower() if isinstance(one, bool) else str(one)


def natural(text: str) -> tuple[object, ...]:
    """Return a key by which ``10Gi`` comes after ``9Gi``, and ``1g.5gb`` before ``1g.10gb``."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(text) if part)
