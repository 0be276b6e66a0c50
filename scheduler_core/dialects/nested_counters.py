"""The counters of devices that are cut from a device which is itself cut: a root, its middles, their leaves.

A middle is charged once, from its first leaf to its last. No v1 device can say that, so its leaves charge the
root nothing. Instead each dimension that a leaf takes whole becomes a counter of the root, with room for so
many units that a leaf takes all of them, and everything that cannot be active beside the middle takes one.
That is exact if the middle excludes by pairs: a set in which every two fit must fit as a whole. Where all
parts fit at once, ``exact_trees`` has simpler counters, for any number of levels. Takes a pool; returns the
counters, or why there are none. Source: rules S2 to S5 of docs/semantics.md; decisions 0042, 0064.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.dialects.exact_trees import ExactTree, exact_trees
from scheduler_core.dialects.pairwise import misfit
from scheduler_core.dialects.spelling import SpellingTable
from scheduler_core.model.device import Device, DeviceName, QualifiedName, SourceName
from scheduler_core.model.names import is_label
from scheduler_core.model.pool import Pool

Slot = tuple[DeviceName, str]
"""A counter for a dimension of a middle, or of the end of a tree's branch: the device and the dimension."""
_LEVELS = 3
"""Root, middles, leaves."""


@dataclass(frozen=True, slots=True)
class NestedCounters:
    """The counters that a pool needs for its leaves.

    Shape: ``root_of`` the root of every middle and leaf; ``middles`` those of these that leaves are cut from,
           and that draw from their root as ever; in an exact tree nobody does;
           ``totals`` by root and slot; ``drawn`` by device and slot, always slots of the device's own roots;
           ``problems`` by root, one sentence for each reason why it cannot be expressed.
    """

    root_of: Mapping[DeviceName, DeviceName] = field(default_factory=dict)
    middles: frozenset[DeviceName] = frozenset()
    totals: Mapping[DeviceName, Mapping[Slot, Quantity]] = field(default_factory=dict)
    drawn: Mapping[DeviceName, Mapping[DeviceName, Mapping[Slot, Quantity]]] = field(default_factory=dict)
    problems: Mapping[DeviceName, tuple[str, ...]] = field(default_factory=dict)

    def is_leaf(self, name: DeviceName) -> bool:
        """Whether a device is cut from a middle."""
        return name in self.root_of and name not in self.middles

    def misnamed(self, names: SpellingTable) -> Iterator[str]:
        """Yield a sentence for each slot whose counter has no name of its own."""
        plain = {spelling.counter for spelling in names.dimensions.values()}
        for root, slots in self.totals.items():
            known = set(plain)
            for slot in slots:
                if not slot[1]:  # of a device that draws nothing, which is refused for that
                    continue
                name = slot_name(slot, root, names)
                if name in known or not is_label(name):
                    yield f"{slot[0]}: {name!r} cannot be the name of one of its counters"
                known.add(name)


def nested_counters_of(pool: Pool) -> NestedCounters:
    """Return the counters of a pool's leaves. Shape: empty without middles."""
    nest = _Nest(pool)
    if not nest.middles:
        return NestedCounters()
    trees = {root: tree for root, tree in exact_trees(pool).items() if nest.is_beyond(root, tree)}
    in_trees = {name: root for root, tree in trees.items() for name in tree.ends}
    nest.middles = [middle for middle in nest.middles if middle.name not in in_trees]
    problems: dict[DeviceName, tuple[str, ...]] = {}
    totals: dict[DeviceName, dict[Slot, Quantity]] = {}
    drawn: dict[DeviceName, dict[DeviceName, dict[Slot, Quantity]]] = {}
    for root, tree in trees.items():
        totals[root], by_device = nest.slots_of_tree(tree)
        drawn |= {name: {root: taken} for name, taken in by_device.items()}
    for root, middles in nest.by_root().items():
        found = tuple(nest.problems(root, middles))
        if found:
            problems[root] = found
            continue
        for slot, (total, takers) in nest.slots(root, middles):
            totals.setdefault(root, {})[slot] = Quantity.of(total)
            for name, units in takers.items():
                drawn.setdefault(name, {}).setdefault(root, {})[slot] = Quantity.of(units)
    root_of = {
        name: root
        for root, middles in nest.by_root().items()
        for middle in middles
        for name in (middle.name, *(leaf.name for leaf in nest.leaves[middle.name]))
    }
    middles_left = frozenset(nest.leaves) - in_trees.keys()
    return NestedCounters(root_of | in_trees, middles_left, totals, drawn, problems)


class _Nest:
    """The devices of a pool by what they are cut from."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.devices = {device.name: device for device in pool.devices}
        parents = {parent for device in pool.devices for parent in device.parents}
        self.middles = [device for device in pool.devices if device.parents and device.name in parents]
        self.leaves: dict[DeviceName, list[Device]] = {one.name: [] for one in self.middles}
        for device in pool.devices:
            for parent in device.parents:
                if parent in self.leaves:
                    self.leaves[parent].append(device)

    def by_root(self) -> Mapping[DeviceName, Sequence[Device]]:
        """Return the middles by the first device that they are cut from."""
        found: dict[DeviceName, list[Device]] = {}
        for middle in self.middles:
            found.setdefault(middle.parents[0], []).append(middle)
        return found

    def is_beyond(self, root: DeviceName, tree: ExactTree) -> bool:
        """Whether a tree needs counters of its own: a middle's leaves cannot say it."""
        middles = [middle for middle in self.middles if middle.parents[0] == root]
        return tree.depth > _LEVELS or any(self.problems(root, middles))

    def slots_of_tree(
        self, tree: ExactTree
    ) -> tuple[dict[Slot, Quantity], dict[DeviceName, dict[Slot, Quantity]]]:
        """Return a slot of one unit for each end of a tree, and the slots that each device takes."""
        slots: dict[DeviceName, Slot] = {}
        for name, ends in tree.ends.items():
            if ends == (name,) and name not in self.leaves:
                drawn = (dimension for draw in self.devices[name].draws for dimension in draw.amounts)
                slots[name] = (name, min(drawn, default=""))
        takers = {name: {slots[end]: Quantity.of(1) for end in ends} for name, ends in tree.ends.items()}
        return {slot: Quantity.of(1) for slot in slots.values()}, takers

    def problems(self, root: DeviceName, middles: Sequence[Device]) -> Iterator[str]:
        """Yield why a root and its middles have no exact counters."""
        shape = [
            f"{middle.name} is cut into devices and itself cut from {', '.join(middle.parents)}, {why}"
            for middle in middles
            if (why := self._misshapen(middle))
        ]
        if shape:
            yield from shape
            return
        for middle in middles:
            yield from self._inexact_leaves(middle)
        users = self._users(root)
        beyond = misfit(
            [_amounts(user, root) for user in users],
            self._whole(root),
            [user in middles for user in users],
        )
        if beyond is not None:
            names = ", ".join(users[index].name for index in beyond) or "too many sets to look at"
            yield f"{root} is overdrawn by devices of which every two fit: {names}"
        yield from self._beyond_limits(root, middles, users)

    def slots(
        self, root: DeviceName, middles: Sequence[Device]
    ) -> Iterator[tuple[Slot, tuple[int, Mapping[DeviceName, int]]]]:
        """Yield each slot of a root with its total, and who takes how many units of it.

        Of two middles that exclude each other, the leaves of the later one keep those of the earlier one out.
        """
        users = self._users(root)
        for at, middle in enumerate(middles):
            others = [user.name for user in users if self._excludes(root, middle, user)]
            later = (one for one in middles[at + 1 :] if self._excludes(root, middle, one))
            others += [leaf.name for one in later for leaf in self.leaves[one.name]]
            total = len(others)
            for dimension in self._taken_whole(middle):
                own = [
                    one.name for one in self.leaves[middle.name] if dimension in _amounts(one, middle.name)
                ]
                takers = dict.fromkeys(others, 1) | dict.fromkeys(own, total)
                yield (middle.name, dimension), (total, takers)

    def _misshapen(self, middle: Device) -> str:
        if len(middle.parents) > 1 or self.devices[middle.parents[0]].parents:
            return "where v1 can express only one device between a source and its parts"
        leaves = self.leaves[middle.name]
        if any(len(leaf.parents) > 1 or leaf.name in self.leaves for leaf in leaves):
            return "and its parts are cut from further devices, or into some"
        if any(draw.groups is not None for one in (middle, *leaves) for draw in one.draws):
            return "and compatibility groups are declared there"
        whole = self._taken_whole(middle)
        for leaf in leaves:
            if whole.isdisjoint(_amounts(leaf, middle.name)):
                return f"of which {leaf.name} takes no dimension whole"
        return ""

    def _inexact_leaves(self, middle: Device) -> Iterator[str]:
        """Check that leaves exclude each other by pairs, and each such pair by a dimension that both want."""
        leaves, whole = self.leaves[middle.name], self._taken_whole(middle)
        amounts = [_amounts(leaf, middle.name) for leaf in leaves]
        supply = self._whole(middle.name)
        beyond = misfit(amounts, supply, [True] * len(leaves))
        if beyond is not None:
            yield f"{middle.name} is overdrawn by parts of which every two fit"
        for at, one in enumerate(amounts):
            for other in amounts[:at]:
                if not _fit(one, other, supply) and whole.isdisjoint(one.keys() & other.keys()):
                    yield f"{middle.name} has parts that exclude each other by what none takes whole"
                    return

    def _beyond_limits(
        self, root: DeviceName, middles: Sequence[Device], users: Sequence[Device]
    ) -> Iterator[str]:
        dimensions = {dimension for user in users for dimension in _amounts(user, root)}
        count = len(dimensions) + sum(len(self._taken_whole(middle)) for middle in middles)
        if count > limits.COUNTERS:
            yield f"{root} and its parts need {count} counters; v1 allows {limits.COUNTERS}"
        for user in users:
            is_wide = len(user.draws) > limits.COUNTER_SETS_PER_DEVICE
            if is_wide and any(self._excludes(root, middle, user) for middle in middles):
                yield f"{user.name} draws from {len(user.draws)} sources; v1 allows 2 counter sets"

    def _users(self, root: DeviceName) -> list[Device]:
        return [one for one in self.pool.devices if root in _sources(one)]

    def _whole(self, source: DeviceName) -> Mapping[str, Quantity]:
        return self.pool.sources.get(SourceName(source), {})  # nothing where nobody draws from it

    def _taken_whole(self, middle: Device) -> frozenset[str]:
        """Return the dimensions of a middle of which each leaf takes all or nothing."""
        supply = self._whole(middle.name)
        amounts = [_amounts(leaf, middle.name) for leaf in self.leaves[middle.name]]
        drawn = {dimension for one in amounts for dimension in one}
        return frozenset(
            name for name in drawn if all(one.get(name, supply[name]) == supply[name] for one in amounts)
        )

    def _excludes(self, root: DeviceName, middle: Device, user: Device) -> bool:
        """Whether a user of the root cannot be active beside the leaves of a middle."""
        return user is middle or not _fit(_amounts(middle, root), _amounts(user, root), self._whole(root))


def _amounts(device: Device, source: DeviceName) -> Mapping[str, Quantity]:
    return next((draw.amounts for draw in device.draws if draw.source == SourceName(source)), {})


def _sources(device: Device) -> Iterator[DeviceName]:
    return (DeviceName(draw.source) for draw in device.draws)


def _fit(one: Mapping[str, Quantity], other: Mapping[str, Quantity], supply: Mapping[str, Quantity]) -> bool:
    return all(
        amount.nano + other[name].nano <= supply[name].nano for name, amount in one.items() if name in other
    )


def slot_name(slot: Slot, root: DeviceName, names: SpellingTable) -> str:
    """Return the name of a slot's counter: the middle's name without its root's, and the dimension's."""
    label = names.devices[slot[0]].removeprefix(f"{names.devices[root]}-")
    return f"{label}-{names.dimensions[QualifiedName(slot[1])].counter}"


def sentences(problems: Mapping[DeviceName, Iterable[str]]) -> Iterator[str]:
    """Yield every problem."""
    for found in problems.values():
        yield from found
