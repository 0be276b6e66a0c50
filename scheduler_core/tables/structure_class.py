"""Structure classes: components that are equal except for the values of some attributes.

Components of one structure class have an equal structure, equal amounts, and devices with equal attribute
keys. The devices with the same attribute keys form an *attribute group*. The attribute values of a
component are stored as *entries*: for each group and each of its keys one entry. An entry is one value
where all devices of the group have the same value; otherwise the key is *per device*, and the entry is a
tuple with one value per device. A structure class notes in which entries its components differ: serial
numbers, addresses, indexes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import is_, itemgetter
from typing import Final

from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.base.version import Version
from scheduler_core.model.consumption import BadAmount, resolved, share_of
from scheduler_core.model.device import Binding, QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.taints import Taint, Toleration, intolerable
from scheduler_core.tables.bits import mask_of
from scheduler_core.tables.entries import Entries, Keys, differing, is_same
from scheduler_core.tables.occupancy import OccupancyTables

Groups = frozenset[str] | None
Policies = tuple[tuple[QualifiedName, RequestPolicy], ...]
NO_BINDING: Final = Binding()
Amounts = tuple[tuple[str, Quantity], ...]
"""What a request wants of a device, by capacity."""
Share = tuple[Quantity, ...]
"""What one claim consumes of a device that serves many, by capacity in the device's order."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Everything about a device except its name, its attributes and its node selection.

    Shape: equal capacities have one ``number``; ``draws`` has, per source, the number of the source, the
           number of the amounts drawn, and the compatibility groups declared for it; ``parents`` are
           positions.
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
    """Devices with the same attribute keys.

    Shape: ``per_device`` has, for each key, whether the values of the devices differ.
    """

    keys: Keys
    positions: tuple[int, ...]
    per_device: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class AttributeLocation:
    """Where the values of an attribute are stored: the number of the entry, and the devices it is about.

    Shape: ``mask`` are the same ``positions`` as a mask; ``is_per_device`` as in ``AttributeGroup``.
    """

    entry: int
    positions: tuple[int, ...]
    mask: int
    is_per_device: bool


def _is_enabled(facts: DeviceFacts, features: Features) -> bool:
    return (
        (features.DRAPartitionableDevices or not facts.draws)
        and (features.DRAConsumableCapacity or not facts.is_shareable)
        and (features.binding or not facts.binding.conditions)
    )


class StructureClass:
    """What components have in common, whatever their attribute values. Equal classes are one object.

    Shape: ``sources`` what each source offers; ``amounts`` all amounts that are drawn, by number;
           ``varying`` the numbers of the entries in which components were found to differ; ``own`` returns
           the varying entries of a component, ``common`` the others; ``keys`` all attribute keys of its
           devices; ``waiting`` the positions with binding conditions; ``shareable`` those of
           shareable devices, of which the occupancy tables cannot tell how much is left; ``is_shared``
           whether there are any; ``judges`` whether some device has an expression about others.
    """

    __slots__ = (
        "_barred",
        "_fractions",
        "_locations",
        "_seen",
        "_shares",
        "_uncertain",
        "amounts",
        "common",
        "device_facts",
        "driver",
        "groups",
        "is_shared",
        "judges",
        "keys",
        "own",
        "shareable",
        "sources",
        "tables",
        "varying",
        "waiting",
    )  # fmt: skip

    def __init__(
        self,
        driver: str,
        tables: OccupancyTables,
        device_facts: tuple[DeviceFacts, ...],
        sources: tuple[Mapping[str, Quantity], ...],
        groups: tuple[AttributeGroup, ...],
        *,
        amounts: Sequence[Mapping[str, Quantity]],
        fractions: bool = True,
    ) -> None:
        self.driver = driver
        self.tables = tables
        self.amounts = amounts
        self.device_facts = device_facts
        self.sources = sources
        self.groups = groups
        self.shareable = mask_of(
            [position for position, facts in enumerate(device_facts) if facts.is_shareable]
        )
        self.is_shared = self.shareable != 0
        self.judges = any([facts.only_with is not None for facts in device_facts])
        self.waiting = mask_of(
            [position for position, facts in enumerate(device_facts) if facts.binding.conditions]
        )
        self._barred: dict[tuple[Toleration, ...], int] = {}
        self._shares: dict[tuple[int, Amounts], Share | None] = {}
        self._fractions = fractions
        self.keys = tuple({key: None for group in groups for key in group.keys})
        self._locations: dict[QualifiedName, tuple[AttributeLocation, ...]] = {}
        self._seen: Entries = ()
        self._vary(frozenset())

    def locations(self, key: QualifiedName) -> tuple[AttributeLocation, ...]:
        """Return where the values of an attribute are stored, one location per group that has the key."""
        found = self._locations.get(key)
        if found is None:
            found = self._locations[key] = tuple(self._found(key))
        return found

    def _found(self, key: QualifiedName) -> Iterator[AttributeLocation]:
        first = 0
        for group in self.groups:
            if key in group.keys:
                offset = group.keys.index(key)
                yield AttributeLocation(
                    first + offset, group.positions, mask_of(group.positions), group.per_device[offset]
                )
            first += len(group.keys)

    def barred(self, tolerations: tuple[Toleration, ...]) -> int:
        """Return the positions with a taint that is not tolerated."""
        known = self._barred.get(tolerations)
        if known is None:
            tainted = (
                (position, facts.taints) for position, facts in enumerate(self.device_facts) if facts.taints
            )
            found = (position for position, taints in tainted if intolerable(taints, tolerations) is not None)
            known = self._barred[tolerations] = mask_of(found)
        return known

    def with_capacity(self, wanted: Amounts) -> int:
        """Return the positions that have the wanted amounts when nothing of them is in use.

        Shape: bare keys belong to the driver.
        """
        if not wanted:
            return mask_of([p for p in range(len(self.device_facts)) if self._can_share(p, wanted)])
        needed = {qualified(key, self.driver): amount for key, amount in wanted}
        return mask_of(
            position
            for position, facts in enumerate(self.device_facts)
            if self._can_share(position, wanted)
            and all(key in facts.capacity and amount <= facts.capacity[key] for key, amount in needed.items())
        )

    def with_amount_errors(self, wanted: Amounts) -> int:
        """Return the positions for which an amount cannot be applied: it fails the claim."""
        return mask_of([
            position
            for position in range(len(self.device_facts))
            if self.amount_error(position, wanted) is not None
        ])  # fmt: skip

    def amount_error(self, position: int, wanted: Amounts) -> BadAmount | None:
        """Return why an amount cannot be applied to a device; None if all can."""
        try:
            self._shared_amounts(position, wanted)
        except BadAmount as bad:
            return bad
        return None

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
        try:
            found = self._shared_amounts(position, wanted)
        except BadAmount:
            return None
        return None if found is None else tuple(found.values())

    def _shared_amounts(self, position: int, wanted: Amounts) -> Mapping[QualifiedName, Quantity] | None:
        facts = self.device_facts[position]
        needed = resolved(wanted, self.driver, facts.capacity)
        if needed is None or not facts.is_shareable:
            return None
        return share_of(needed, facts.capacity, dict(facts.policies), fractions=self._fractions)

    def enabled(self, features: Features) -> int:
        """Return the positions that may be offered: every feature is on that their devices need."""
        return mask_of(
            position for position, facts in enumerate(self.device_facts) if _is_enabled(facts, features)
        )

    def note(self, rows: Sequence[Entries]) -> None:
        """Note in which entries these components differ from each other or from the first one ever noted."""
        is_first = not self._seen
        if is_first:
            self._seen = rows[0]
        elif len(rows) == 1 and self.agree(self.common(self._seen), self.common(rows[0])):
            return
        pairs = enumerate(differing(list(zip(self._seen, *rows, strict=True))))
        varying = self.varying.union([number for number, differs in pairs if differs])
        if is_first or varying != self.varying:
            self._vary(varying)

    def agree(self, one: Entries, two: Entries) -> bool:
        """Whether no CEL expression can tell the common entries of two components apart.

        This is fast in the usual cases: most entries are the same objects; nearly all others are strings.
        """
        if all(map(is_, one, two)):
            return True
        is_equal = one == two and all(map(is_, map(type, one), map(type, two)))
        return is_equal and all(map(is_same, self._uncertain(one), self._uncertain(two)))

    def _vary(self, varying: frozenset[int]) -> None:
        self.varying = varying
        self.own = _picker(sorted(varying))
        self.common = _picker([number for number in range(len(self._seen)) if number not in varying])
        seen = self.common(self._seen)
        self._uncertain = _picker(
            [number for number, one in enumerate(seen) if isinstance(one, Version | tuple)]
        )


def _picker(numbers: Sequence[int]) -> Callable[[Entries], Entries]:
    """Return a function that returns some of the entries."""
    if len(numbers) > 1:
        return itemgetter(*numbers)
    return lambda entries: tuple(entries[number] for number in numbers)
