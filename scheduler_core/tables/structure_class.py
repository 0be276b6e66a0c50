"""Skeletons: components alike but for the values of attributes.

A skeleton is the structure of a component, its amounts, and which attributes its devices have: devices
with the same attribute keys form a *group*. A component's *entries* are, group by group and key by key,
the one value that all devices of the group have, or their values one by one (the key is *spread*). A
skeleton learns in which entries components differ: serial numbers, addresses, indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import is_, itemgetter
from typing import Final

from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.model.device import AttributeValue, Binding, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.policy import RequestPolicy, consumed
from scheduler_core.model.taints import Taint, Toleration, intolerable
from scheduler_core.tables.bits import mask_of
from scheduler_core.tables.occupancy import OccupancyTables

Keys = tuple[QualifiedName, ...]
Entry = AttributeValue | tuple[AttributeValue, ...]
Entries = tuple[Entry, ...]
_TEXTS: Final[set[type]] = {str}  # what equals one is one


def identity(value: Entry) -> tuple[object, ...]:
    """Return what tells a value from every other one that an expression could tell it from."""
    if isinstance(value, Version):
        return Version, value.text
    if isinstance(value, tuple):
        return tuple, tuple(map(identity, value))
    return type(value), value


def is_same(one: Entry, two: Entry) -> bool:
    """Whether no expression could tell two values apart."""
    if one is two:
        return True
    if one != two or type(one) is not type(two):
        return False
    if isinstance(one, tuple) and isinstance(two, tuple):
        return set(map(type, one)) == _TEXTS or all(map(is_same, one, two))
    return not isinstance(one, Version) or identity(one) == identity(two)


def is_constant(column: tuple[Entry, ...], first: Entry) -> bool:
    """Whether no expression could tell the values of a column from its first one."""
    return column.count(first) == len(column) and (type(first) is str or _is_one(column, first))


def _is_one(column: tuple[Entry, ...], first: Entry) -> bool:
    """Whether equal values are the same: of most types, others may equal them."""
    return all(map(is_, column, repeat(first))) or all(map(is_same, column, repeat(first)))


def spread(columns: Sequence[Entries]) -> list[bool]:
    """Return, per column, whether its values differ."""
    found = [column.count(column[0]) != len(column) for column in columns]
    for number, column in enumerate(columns):
        if type(column[0]) is not str and not found[number]:
            found[number] = not _is_one(column, column[0])
    return found


Groups = frozenset[str] | None
Policies = tuple[tuple[QualifiedName, RequestPolicy], ...]
NO_BINDING: Final = Binding()
Amounts = tuple[tuple[str, Quantity], ...]
"""What a request wants of a device, by capacity."""
Share = tuple[Quantity, ...]
"""What one claim consumes of a device that serves many, by capacity in the device's order."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What a device is beyond its attributes.

    Shape: ``draws`` name sources by number, and amounts by the number that the skeleton knows them by, each
           with the compatibility groups declared for it; ``parents`` are positions; equal capacities have
           one ``number``.
    """

    number: int
    capacity: Mapping[QualifiedName, Quantity]
    draws: tuple[tuple[int, int, Groups], ...]
    parents: tuple[int, ...]
    taints: tuple[Taint, ...] = ()
    binding: Binding = NO_BINDING
    is_shareable: bool = False
    policies: Policies = ()
    only_with: str | None = None


@dataclass(frozen=True, slots=True)
class AttributeGroup:
    """Devices with the same attribute keys. Shape: ``spread`` tells for each key whether values differ."""

    keys: Keys
    positions: tuple[int, ...]
    spread: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class AttributeLocation:
    """Where the values of an attribute stand: an entry, and whose values it has."""

    entry: int
    positions: tuple[int, ...]
    mask: int
    is_spread: bool


def _is_enabled(body: DeviceFacts, features: Features) -> bool:
    groups = any(groups for _, _, groups in body.draws)
    return (
        (features.DRAPartitionableDevices or not body.draws)
        and (features.DRADeviceCompatibilityGroups or not groups)
        and (features.DRAConsumableCapacity or not body.is_shareable)
        and (features.binding or not body.binding.conditions)
    )


class StructureClass:
    """What components have in common whatever their attributes say. Equal skeletons are one object.

    Shape: ``sources`` what each source holds; ``amounts`` what is drawn, by number; ``varying`` the numbers
           of entries in which components were seen to differ; ``own`` picks those out of all entries,
           ``common`` the others; ``keys`` are all attributes of its devices; ``waits`` whether some device
           must first become ready; ``is_shared`` whether some device serves many claims: tables cannot tell
           what is left of it.
    """

    __slots__ = (
        "_barred",
        "_odd",
        "_places",
        "_seen",
        "_shares",
        "amounts",
        "bodies",
        "common",
        "driver",
        "groups",
        "is_shared",
        "judges",
        "judges",
        "keys",
        "own",
        "shareable",
        "sources",
        "tables",
        "varying",
        "waits",
    )  # fmt: skip

    def __init__(
        self,
        driver: str,
        tables: OccupancyTables,
        bodies: tuple[DeviceFacts, ...],
        sources: tuple[Mapping[str, Quantity], ...],
        groups: tuple[AttributeGroup, ...],
        *,
        amounts: Sequence[Mapping[str, Quantity]],
    ) -> None:
        self.driver = driver
        self.tables = tables
        self.amounts = amounts
        self.bodies = bodies
        self.sources = sources
        self.groups = groups
        self.shareable = mask_of([position for position, body in enumerate(bodies) if body.is_shareable])
        self.is_shared = self.shareable != 0
        self.judges = any([body.only_with is not None for body in bodies])
        self.waits = any([body.binding.conditions for body in bodies])
        self._barred: dict[tuple[Toleration, ...], int] = {}
        self._shares: dict[tuple[int, Amounts], Share | None] = {}
        self.keys = tuple({key: None for group in groups for key in group.keys})
        self._places: dict[QualifiedName, tuple[AttributeLocation, ...]] = {}
        self._seen: Entries = ()
        self._vary(frozenset())

    def places(self, key: QualifiedName) -> tuple[AttributeLocation, ...]:
        """Return where the values of an attribute stand, group by group; few are ever asked for."""
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = tuple(self._found(key))
        return found

    def _found(self, key: QualifiedName) -> Iterator[AttributeLocation]:
        first = 0
        for group in self.groups:
            if key in group.keys:
                offset = group.keys.index(key)
                yield AttributeLocation(
                    first + offset, group.positions, mask_of(group.positions), group.spread[offset]
                )
            first += len(group.keys)

    def barred(self, tolerations: tuple[Toleration, ...]) -> int:
        """Return the positions that bear a taint which is not tolerated."""
        known = self._barred.get(tolerations)
        if known is None:
            marked = ((position, body.taints) for position, body in enumerate(self.bodies) if body.taints)
            found = (position for position, taints in marked if intolerable(taints, tolerations) is not None)
            known = self._barred[tolerations] = mask_of(found)
        return known

    def large(self, wanted: Amounts) -> int:
        """Return the positions that have the wanted amounts when nothing of them is in use.

        Shape: bare keys are the driver's own.
        """
        if not wanted:
            return mask_of([p for p in range(len(self.bodies)) if self._can_share(p, wanted)])
        needed = {qualified(key, self.driver): amount for key, amount in wanted}
        return mask_of(
            position
            for position, body in enumerate(self.bodies)
            if self._can_share(position, wanted)
            and all(key in body.capacity and amount <= body.capacity[key] for key, amount in needed.items())
        )

    def _can_share(self, position: int, wanted: Amounts) -> bool:
        return not self.shareable >> position & 1 or self.share(position, wanted) is not None

    def share(self, position: int, wanted: Amounts) -> Share | None:
        """Return what a request consumes of a shareable device, None where the device can never give it.

        Shape: an amount for each capacity of the device, in its order.
        """
        key = (position, wanted)
        if key not in self._shares:
            self._shares[key] = self._new_share(position, wanted)
        return self._shares[key]

    def _new_share(self, position: int, wanted: Amounts) -> Share | None:
        body, needed = self.bodies[position], {qualified(key, self.driver): amount for key, amount in wanted}
        if not needed.keys() <= body.capacity.keys():
            return None
        policies, found = dict(body.policies), []
        for name, value in body.capacity.items():
            amount = consumed(needed.get(name), value, policies.get(name))
            if amount is None or amount > value:
                return None
            found.append(amount)
        return tuple(found)

    def enabled(self, features: Features) -> int:
        """Return the positions that may be offered: every feature is on that their devices need."""
        return mask_of(position for position, body in enumerate(self.bodies) if _is_enabled(body, features))

    def note(self, rows: Sequence[Entries]) -> None:
        """Note in which entries components differ, among themselves or from the first one ever seen."""
        is_first = not self._seen
        if is_first:
            self._seen = rows[0]
        elif len(rows) == 1 and self.agree(self.common(self._seen), self.common(rows[0])):
            return
        differing = enumerate(spread(list(zip(self._seen, *rows, strict=True))))
        varying = self.varying.union([number for number, differs in differing if differs])
        if is_first or varying != self.varying:
            self._vary(varying)

    def agree(self, one: Entries, two: Entries) -> bool:
        """Whether no expression could tell the common entries of two components apart.

        Most are the same objects, and nearly all others of a type for which ``==`` says it.
        """
        if all(map(is_, one, two)):
            return True
        is_equal = one == two and all(map(is_, map(type, one), map(type, two)))
        return is_equal and all(map(is_same, self._odd(one), self._odd(two)))

    def _vary(self, varying: frozenset[int]) -> None:
        self.varying = varying
        self.own = _picker(sorted(varying))
        self.common = _picker([number for number in range(len(self._seen)) if number not in varying])
        seen = self.common(self._seen)
        self._odd = _picker([number for number, one in enumerate(seen) if isinstance(one, Version | tuple)])


def _picker(numbers: Sequence[int]) -> Callable[[Entries], Entries]:
    """Return what picks some entries out of all."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return lambda entries: tuple(entries[number] for number in numbers)
