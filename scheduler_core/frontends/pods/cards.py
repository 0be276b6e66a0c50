"""The GPUs and cards of a node: what of them stays as long as the node's pools stay.

A card is a GPU, or a NIC or FPGA with its VFs. It works on every pool whose devices have the attributes
``type`` and ``minor`` and topology attributes: on pools of this project's agent, and on those that
``reported`` makes of Koordinator's Device objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.partitions.table import PartitionTable
from scheduler_core.frontends.pods.exclusive import DEVICE_TYPES, GPU_PART, LINKED, scopes_of
from scheduler_core.frontends.pods.hints import GPU
from scheduler_core.frontends.pods.linked_gpus import LinkedGpus, group_of, published_table
from scheduler_core.frontends.pods.offered_devices import OfferedDevice
from scheduler_core.frontends.pods.reported import DRIVER as REPORTED
from scheduler_core.frontends.pods.reported import LABELS
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.names import bare
from scheduler_core.model.obstacles import TaintNotTolerated
from scheduler_core.model.places import NUMA_NODE, SWITCH, SWITCH_PATH, switch_levels
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.model.taints import intolerable
from scheduler_core.rules.scopes import Reserved, Scope, reservation

ADDRESS = QualifiedName("resource.kubernetes.io/pciBusID")


@dataclass(frozen=True, eq=False)
class Card:
    """A GPU or card with its VFs.

    Shape: ``whole`` is None where only VFs or shares are published; ``part`` is the device of which pods
           have shares, None if there is none; ``number`` its minor, else its index; ``switches`` are those
           above it, the topmost first; ``refused`` says why no pod may use it, whichever devices are in
           use, empty where pods may.
    """

    whole: OfferedDevice | None
    vfs: tuple[OfferedDevice, ...]
    number: int
    pcie: Scope | None
    switches: tuple[str, ...]
    numa: Scope | None
    refused: str
    part: OfferedDevice | None = None

    @cached_property
    def lead(self) -> OfferedDevice:
        """Return the card itself, or its shared device, or its first VF."""
        return self.whole or self.part or self.vfs[0]

    @cached_property
    def devices(self) -> tuple[OfferedDevice, ...]:
        """Return the card, its shared device and its VFs, as far as they are published."""
        return (*(one for one in (self.whole, self.part) if one is not None), *self.vfs)

    @cached_property
    def type(self) -> str:
        """Return the published type of the card itself, or of its shared device."""
        return str(self.lead.own("type"))

    @cached_property
    def by_address(self) -> tuple[OfferedDevice, ...]:
        """Return the VFs by address."""
        return tuple(sorted(self.vfs, key=lambda one: str(one.attributes.get(ADDRESS, one.id.device))))

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Return the labels for label selectors."""
        return labels(self.lead)


class NodeCards:
    """The GPUs and cards of one node. Shape: ``reserved`` the scopes that claims hold exclusively."""

    def __init__(self, offered: Sequence[OfferedDevice], reserved: Reserved) -> None:
        self._reserved = reserved
        self._types = [(one, str(one.own("type"))) for one in offered]
        known = {one for several in DEVICE_TYPES.values() for one in several}
        self._has_switches = all(
            one.value(scopes_of(one.id.driver)[0]) is not None for one, found in self._types if found in known
        )
        self._cards: dict[str, tuple[Card, ...]] = {}

    def of_kind(self, kind: str) -> tuple[Card, ...]:
        """Return the GPUs or cards of a type, in listed order."""
        found = self._cards.get(kind)
        if found is None:
            found = self._cards[kind] = tuple(self._found(kind))
        return found

    @cached_property
    def groups(self) -> tuple[LinkedGpus, ...]:
        """Return the groups of GPUs that are one device, in listed order."""
        return tuple(self._groups())

    @cached_property
    def table(self) -> PartitionTable | None:
        """Return the partitions that the groups and the single GPUs are; None if they are none."""
        alone = ((card.number, card.whole) for card in self.of_kind(GPU) if card.whole is not None)
        return published_table(self.groups, alone)

    def _groups(self) -> Iterator[LinkedGpus]:
        alone = {card.number for card in self.of_kind(GPU)}
        for device in (one for one, found in self._types if found == LINKED):
            partition = group_of(device)
            if partition is None:
                continue
            pcie = self._pcie(device)
            refused = self._refused([device])
            if self._reserved and pcie is None and not alone.issuperset(partition.minors):
                refused = refused or "its PCIe scopes are unknown, and other pods have some for themselves"
            yield LinkedGpus(
                device=device,
                partition=partition,
                pcie=pcie,
                numa=_single(device.value(NUMA_NODE)),
                refused=refused,
                labels=labels(device),
            )

    def _pcie(self, device: OfferedDevice) -> Scope | None:
        switch, root = scopes_of(device.id.driver)
        return device.value(switch if self._has_switches else root)

    def _found(self, kind: str) -> Iterator[Card]:
        types = DEVICE_TYPES.get(kind, (kind,))
        mine = [one for one, found in self._types if found in types]
        mine = [one for one in mine if kind == GPU or one.own("rdmaCapable") is not False]
        groups = [[one] for one in mine] if len(types) == 1 else _by_card(mine)
        parts = {_of_gpu(one): one for one, found in self._types if kind == GPU and found == GPU_PART}
        for place, devices in enumerate(groups):
            yield self._card(devices, parts.pop(_of_gpu(devices[0]), None) if parts else None, place)
        for place, part in enumerate(parts.values(), len(groups)):
            yield self._card((), part, place)

    def _card(self, devices: Sequence[OfferedDevice], part: OfferedDevice | None, place: int) -> Card:
        whole = next((one for one in devices if one.own("type") != "vf"), None)
        vfs = tuple(one for one in devices if one is not whole)
        lead = whole or part or vfs[0]
        minor = lead.own("minor")
        return Card(
            whole=whole,
            vfs=vfs,
            number=minor if isinstance(minor, int) else place,
            pcie=self._pcie(lead),
            switches=switch_levels(lead.own(SWITCH_PATH), lead.own(SWITCH)),
            numa=_single(lead.value(NUMA_NODE)),
            refused=self._refused([one for one in (whole, *vfs[:1], part) if one is not None][:2]),
            part=part,
        )

    def _refused(self, devices: Sequence[OfferedDevice]) -> str:
        for one in devices:
            taint = intolerable(one.taints, ())
            if taint is not None:
                return obstacle_text(TaintNotTolerated(taint))
            found = reservation(one, self._reserved)
            if found is not None:
                return obstacle_text(found)
        return ""


def labels(device: OfferedDevice) -> Mapping[str, str]:
    """Return the labels for label selectors: a device's labels, or its attributes under both names."""
    attributes = device.attributes
    own = {
        name.removeprefix(LABELS): str(value) for name, value in attributes.items() if name.startswith(LABELS)
    }
    if device.id.driver == REPORTED or own:
        return own
    found = {str(name): _written(value) for name, value in attributes.items()}
    return found | {bare(name, device.id.driver): value for name, value in found.items()}


def _of_gpu(device: OfferedDevice) -> tuple[str, str, object]:
    """Return which GPU a device is, or is a part of."""
    return device.id.driver, device.id.pool, device.own("uuid") or device.own("minor")


def _written(value: AttributeValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _by_card(devices: Sequence[OfferedDevice]) -> list[list[OfferedDevice]]:
    """Return the devices of each NIC: itself and its VFs."""
    found: dict[tuple[str, str, object], list[OfferedDevice]] = {}
    for one in devices:
        card = one.own("pfPciAddress")
        key = (one.id.driver, one.id.pool, card if card is not None else one.id.device)
        found.setdefault(key, []).append(one)
    return list(found.values())


def _single(value: AttributeValue | None) -> Scope | None:
    """Return one NUMA node: the first one of a list."""
    return value[0] if isinstance(value, tuple) else value
