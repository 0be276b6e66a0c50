"""GPUs that a node offers together as one device, because links join them: which groups a pod can get.

Takes the groups of a node and its single GPUs as they are now; returns the table of partitions that they
are, and the members of each free group. Where links are joined on request, single GPUs have no links.
Source: docs/decisions/0066-partitions-for-annotated-pods.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.joint.demand import Linked
from scheduler_core.frontends.joint.node_device import NodeDevice, Take
from scheduler_core.frontends.partitions.table import Partition, PartitionTable
from scheduler_core.frontends.pods.exclusive import LINKED
from scheduler_core.frontends.pods.hints import GPU, Exclusive, Hint
from scheduler_core.frontends.pods.offered_devices import OfferedDevice
from scheduler_core.model.places import SWITCH, SWITCH_PATH, switch_levels
from scheduler_core.rules.scopes import Scope
from scheduler_core.state.places import admits


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LinkedGpus:
    """GPUs that are one device of the node.

    Shape: ``pcie`` and ``numa`` are the scopes that all members share, None where there is none; ``refused``
           says why no pod may use it, whichever devices are in use, empty where pods may.
    """

    device: OfferedDevice
    partition: Partition
    pcie: Scope | None
    numa: Scope | None
    refused: str
    labels: Mapping[str, str]

    @property
    def is_free(self) -> bool:
        """Whether a pod could get it now."""
        return not self.refused and admits(self.device.place)


def group_of(device: OfferedDevice) -> Partition | None:
    """Return the partition of several GPUs that a device is; None if it does not say which GPUs it joins."""
    text = device.own("gpuMinors")
    parts = text.split(",") if isinstance(text, str) else []
    if len(parts) < 2 or not all(one.isascii() and one.isdecimal() for one in parts):
        return None
    return _partition(device, tuple(sorted(map(int, parts))))


def published_table(
    groups: Sequence[LinkedGpus], singles: Iterable[tuple[int, OfferedDevice]]
) -> PartitionTable | None:
    """Return the table that a node publishes; None if it has neither groups nor single GPUs with a score.

    Single GPUs with a score are the entries of one GPU in the table of the node's agent. If none has one,
    that table has no such entry, or the agent is one that did not publish them: every GPU counts then.
    Shape: ``singles`` by minor.
    """
    alone = list(singles)
    scored = [(minor, one) for minor, one in alone if one.own("allocationScore") is not None]
    if not groups and not scored:
        return None
    by_size: dict[int, list[Partition]] = {}
    for minor, device in scored or alone:
        by_size.setdefault(1, []).append(_partition(device, (minor,)))
    for group in groups:
        by_size.setdefault(len(group.partition.minors), []).append(group.partition)
    return PartitionTable({size: tuple(found) for size, found in sorted(by_size.items())})


def _partition(device: OfferedDevice, minors: tuple[int, ...]) -> Partition:
    link, bandwidth, score = (
        device.own(key) for key in ("gpuLinkType", "ringBusBandwidth", "allocationScore")
    )
    return Partition(
        minors=minors,
        link=link if isinstance(link, str) else None,
        bandwidth=_quantity(bandwidth) if isinstance(bandwidth, int) else None,
        score=score if isinstance(score, int) else 0,
    )


def _quantity(amount: int) -> Quantity:
    """Return an amount that prints as its author wrote it: 400Gi or 450G, and not all digits."""
    return Quantity.of(amount) if amount % 2**20 else Quantity.bytes_of(amount)


def linked(
    groups: Sequence[LinkedGpus],
    singles: tuple[Sequence[NodeDevice], Sequence[NodeDevice]],
    hint: Hint,
) -> Linked:
    """Return the groups of linked GPUs that a pod can get.

    Shape: ``singles`` are the single GPUs that match the hint's selector, and the others.
    """
    usable = {one.number: one for one in singles[0]}
    left_out = {one.number for one in singles[1]}
    free: dict[tuple[int, ...], tuple[NodeDevice, ...]] = {}
    for group in groups:
        if group.is_free and not left_out.intersection(group.partition.minors):
            members = tuple(_members(group, usable, hint))
            if all(one.is_free for one in members):
                free[group.partition.minors] = _taking(group, members)
    return Linked(free)


def _members(group: LinkedGpus, usable: Mapping[int, NodeDevice], hint: Hint) -> Iterator[NodeDevice]:
    """Yield the members. One that is not published by itself has the group's scopes and labels."""
    knows_scopes = group.pcie is not None and usable.keys() >= set(group.partition.minors)
    may = hint.exclusive is not Exclusive.PCIE or knows_scopes
    matches = hint.selector is None or hint.selector.admits(group.labels)
    for minor in group.partition.minors:
        known = usable.get(minor)
        if known is not None:
            yield replace(known, is_free=known.is_free and may)
        else:
            yield NodeDevice(
                kind=GPU,
                number=minor,
                pcie=group.pcie,
                switches=switch_levels(group.device.own(SWITCH_PATH), group.device.own(SWITCH)),
                numa=group.numa,
                is_free=may and matches,
            )


def _taking(group: LinkedGpus, members: tuple[NodeDevice, ...]) -> tuple[NodeDevice, ...]:
    """Return the members: the first one takes the group's device, the others nothing."""
    device = group.device
    take = Take(device.id, device.place, type=LINKED)
    return tuple(replace(one, takes=() if number else (take,)) for number, one in enumerate(members))
