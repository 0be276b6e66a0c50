"""Every way to distribute a number of devices over PCIe scopes, each once.

Devices of one scope that are below the same switches differ only in their rank. Scopes with equal devices
and cards below equal trees of switches are interchangeable. A device without a scope counts as a scope of its
own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.closeness import UsedScopes
from scheduler_core.frontends.joint.node_device import NodeDevice


@dataclass(frozen=True, slots=True)
class ScopeDevices:
    """The free devices of one PCIe scope, grouped by the switches above them, the best of each group first.

    Interchangeable scopes have equal ``signature``.
    """

    groups: tuple[tuple[NodeDevice, ...], ...]
    signature: Hashable

    @property
    def size(self) -> int:
        """Return the number of devices."""
        return sum(map(len, self.groups))


def scopes_with_devices(
    devices: Sequence[NodeDevice], everything: Sequence[NodeDevice], cards: Sequence[Sequence[NodeDevice]]
) -> list[ScopeDevices]:
    """Return the scopes that have free devices, in the order of their first device.

    Shape: ``everything`` are all devices of the type; ``cards`` are those of each other type.
    """
    by_scope: dict[Hashable, dict[Hashable, list[NodeDevice]]] = {}
    for device in devices:
        key = (device.pcie, device.numa) if device.pcie is not None else (None, device.numa, device.number)
        by_scope.setdefault(key, {}).setdefault(device.switches, []).append(device)
    beside: dict[Hashable, list[tuple[int, tuple[str, ...]]]] = {}
    for number, mine in enumerate(cards):
        for card in mine:
            beside.setdefault(card.pcie, []).append((number, card.switches))
    sizes = Counter([one.pcie for one in everything if one.pcie is not None])
    used = UsedScopes.of(everything).switches
    found = []
    for groups in by_scope.values():
        first = next(iter(groups.values()))[0]
        scope = first.pcie
        names: dict[str, int] = {}  # the switches in the order in which they are met: equal in equal trees
        tree = tuple((_named(mine[0].switches, names), len(mine)) for mine in groups.values())
        near = Counter([(number, _named(path, names)) for number, path in beside.get(scope, ())])
        size = sizes[scope] if scope is not None else 1
        signature = (tree, size, first.numa, scope is None, frozenset(near.items()), scope in used)
        found.append(ScopeDevices(tuple(map(tuple, groups.values())), signature))
    return found


def _named(path: tuple[str, ...], names: dict[str, int]) -> tuple[int, ...]:
    return tuple([names.setdefault(switch, len(names)) for switch in path])


def distributions(among: Sequence[ScopeDevices], count: int) -> Iterator[tuple[NodeDevice, ...]]:
    """Yield every way to take ``count`` devices, once for all ways that swap interchangeable scopes."""
    yield from _distributed(among, count, 0, {}, ())


def _distributed(
    among: Sequence[ScopeDevices],
    count: int,
    index: int,
    least: Mapping[Hashable, tuple[int, ...]],
    taken: tuple[NodeDevice, ...],
) -> Iterator[tuple[NodeDevice, ...]]:
    if count == 0:
        yield taken
        return
    if index == len(among) or sum(one.size for one in among[index:]) < count:
        return
    place = among[index]
    most = least.get(place.signature)
    for numbers in product(*(range(min(len(group), count), -1, -1) for group in place.groups)):
        # Of interchangeable scopes a later one never gives more than an earlier one.
        left = count - sum(numbers)
        if left >= 0 and (most is None or numbers <= most):
            mine = (
                device
                for group, number in zip(place.groups, numbers, strict=True)
                for device in group[:number]
            )
            yield from _distributed(
                among, left, index + 1, {**least, place.signature: numbers}, (*taken, *mine)
            )
