"""How an entry of a table of partitions names its GPUs: by minors, PCI addresses or modules of the baseboard.

Takes an entry; returns its names, or an error with the path. Addresses and modules mean the same GPUs
whatever the driver counted at this boot; which those are is found where the node is known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields

MINORS: Final = "minors"
ADDRESSES: Final = "addresses"
MODULES: Final = "modules"
_ADDRESS: Final = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])")


@dataclass(frozen=True, slots=True)
class Members:
    """The GPUs of an entry. Shape: one of the three is given, ascending; addresses as sysfs spells them."""

    minors: tuple[int, ...] = ()
    addresses: tuple[str, ...] = ()
    modules: tuple[int, ...] = ()


def read_members(
    entry: Fields, size: int, known: Collection[int] | None, *, any_name: bool = False
) -> Members:
    """Return the GPUs of an entry.

    Shape: ``known`` are the minors of the node's GPUs, None where unknown; without ``any_name`` minors are
           the only names.
    Raises: the entry's error.
    """
    given = [key for key in (ADDRESSES, MODULES) if entry.has(key)]
    if not given:
        return Members(minors=_numbers(entry, MINORS, size, known))
    if not any_name:
        raise entry.refuse(given[0], "names GPUs of a table that --partitions reads; here they have minors")
    if len(given) > 1 or entry.has(MINORS):
        raise entry.refuse(given[-1], f"is one way too many: an entry has {MINORS}, {ADDRESSES} or {MODULES}")
    if given == [MODULES]:
        return Members(modules=_numbers(entry, MODULES, size, None))
    return Members(addresses=_addresses(entry, size))


def _numbers(entry: Fields, key: str, size: int, known: Collection[int] | None) -> tuple[int, ...]:
    found: Sequence[object] = entry.items(key)
    for index, number in enumerate(found):
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise entry.refuse(f"{key}[{index}]", "must be a whole number, not negative", number)
        if number in found[:index]:
            raise entry.refuse(f"{key}[{index}]", "is listed twice in its partition", number)
        if known is not None and number not in known:
            listed = ", ".join(map(str, sorted(known))) or "none"
            raise entry.refuse(f"{key}[{index}]", f"the node has no such GPU; it has {listed}", number)
    _refuse_size(entry, key, size, found)
    return tuple(sorted(number for number in found if isinstance(number, int)))


def _addresses(entry: Fields, size: int) -> tuple[str, ...]:
    found: list[str] = []
    for index, text in enumerate(entry.items(ADDRESSES)):
        match = _ADDRESS.fullmatch(text.lower()) if isinstance(text, str) else None
        if match is None:
            raise entry.refuse(f"{ADDRESSES}[{index}]", "must be a PCI address such as 0000:3b:00.0", text)
        domain, *rest = match.groups()
        address = "{:04x}:{}:{}.{}".format(int(domain, 16), *rest)
        if address in found:
            raise entry.refuse(f"{ADDRESSES}[{index}]", "is listed twice in its partition", text)
        found.append(address)
    _refuse_size(entry, ADDRESSES, size, found)
    return tuple(sorted(found))


def _refuse_size(entry: Fields, key: str, size: int, found: Sequence[object]) -> None:
    if len(found) != size:
        raise entry.refuse(key, f"must have {size} members, as its key says", list(found))
