"""Every way to distribute a number of devices over PCIe scopes, each once.

Devices of one scope differ only in their rank. Scopes with equal devices and cards are interchangeable. A
device without a scope counts as a scope of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.closeness import UsedScopes
from scheduler_core.frontends.joint.node_device import NodeDevice


@dataclass(frozen=True, slots=True)
class ScopeDevices:
    """The free devices of one PCIe scope, the best first. Interchangeable scopes have equal ``signature``."""

    devices: tuple[NodeDevice, ...]
    signature: Hashable


def scopes_with_devices(
    devices: Sequence[NodeDevice], everything: Sequence[NodeDevice], cards: Mapping[Hashable, Hashable]
) -> list[ScopeDevices]:
    """Return the scopes that have free devices, in the order of their first device.

    Shape: ``everything`` are all devices of the type; ``cards`` has what each scope has of other types.
    """
    by_scope: dict[Hashable, list[NodeDevice]] = {}
    for device in devices:
        key = (device.pcie, device.numa) if device.pcie is not None else (None, device.numa, device.number)
        by_scope.setdefault(key, []).append(device)
    sizes = Counter([one.pcie for one in everything if one.pcie is not None])
    used = UsedScopes.of(everything).switches
    found = []
    for mine in by_scope.values():
        scope, numa = mine[0].pcie, mine[0].numa
        size = sizes[scope] if scope is not None else 1
        signature = (len(mine), size, numa, scope is None, cards.get(scope), scope in used)
        found.append(ScopeDevices(tuple(mine), signature))
    return found


def distributions(among: Sequence[ScopeDevices], count: int) -> Iterator[tuple[NodeDevice, ...]]:
    """Yield every way to take ``count`` devices, once for all ways that swap interchangeable scopes."""
    yield from _distributed(among, count, 0, {}, ())


def _distributed(
    among: Sequence[ScopeDevices],
    count: int,
    index: int,
    least: Mapping[Hashable, int],
    taken: tuple[NodeDevice, ...],
) -> Iterator[tuple[NodeDevice, ...]]:
    if count == 0:
        yield taken
        return
    if index == len(among) or sum(len(one.devices) for one in among[index:]) < count:
        return
    place = among[index]
    # Of interchangeable scopes a later one never gives more than an earlier one.
    most = min(count, len(place.devices), least.get(place.signature, count))
    for number in range(most, -1, -1):
        rest = {**least, place.signature: number}
        yield from _distributed(among, count - number, index + 1, rest, (*taken, *place.devices[:number]))
