"""The GPUs and cards of a node: what of them stays as long as the node's pools stay.

A card is a GPU, or a NIC or FPGA with its VFs. It works on every pool whose devices have the attributes
``type`` and ``minor`` and topology attributes: on pools of this project's agent, and on those that
``reported`` makes of Koordinator's Device objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from scheduler_core.frontends.pods.exclusive import DEVICE_TYPES, scopes_of
from scheduler_core.frontends.pods.hints import GPU
from scheduler_core.frontends.pods.offered_devices import OfferedDevice
from scheduler_core.frontends.pods.reported import LABELS
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.names import bare
from scheduler_core.model.obstacles import TaintNotTolerated
from scheduler_core.model.sentences import obstacle_text
from scheduler_core.model.taints import intolerable
from scheduler_core.rules.scopes import Reserved, Scope, reservation

NUMA_NODE = QualifiedName("resource.kubernetes.io/numaNode")
ADDRESS = QualifiedName("resource.kubernetes.io/pciBusID")


@dataclass(frozen=True, eq=False)
class Card:
    """A GPU or card with its VFs.

    Shape: ``whole`` is None where only VFs are published; ``number`` its minor, else its index;
           ``refused`` says why no pod may use it, whichever devices are in use, empty where pods may.
    """

    whole: OfferedDevice | None
    vfs: tuple[OfferedDevice, ...]
    number: int
    pcie: Scope | None
    numa: Scope | None
    refused: str

    @cached_property
    def lead(self) -> OfferedDevice:
        """Return the card itself, or its first VF."""
        return self.whole or self.vfs[0]

    @cached_property
    def devices(self) -> tuple[OfferedDevice, ...]:
        """Return the card and its VFs, as far as they are published."""
        return (*((self.whole,) if self.whole is not None else ()), *self.vfs)

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
            scopes_of(one.id.driver)[0] in one.attributes for one, found in self._types if found in known
        )
        self._cards: dict[str, tuple[Card, ...]] = {}

    def of_kind(self, kind: str) -> tuple[Card, ...]:
        """Return the GPUs or cards of a type, in listed order."""
        found = self._cards.get(kind)
        if found is None:
            found = self._cards[kind] = tuple(self._found(kind))
        return found

    def _found(self, kind: str) -> Iterator[Card]:
        types = DEVICE_TYPES.get(kind, (kind,))
        mine = [one for one, found in self._types if found in types]
        mine = [one for one in mine if kind == GPU or one.own("rdmaCapable") is not False]
        groups = [[one] for one in mine] if len(types) == 1 else _by_card(mine)
        for place, devices in enumerate(groups):
            yield self._card(devices, place)

    def _card(self, devices: Sequence[OfferedDevice], place: int) -> Card:
        whole = next((one for one in devices if one.own("type") != "vf"), None)
        vfs = tuple(one for one in devices if one is not whole)
        lead = whole or vfs[0]
        attributes, minor = lead.attributes, lead.own("minor")
        switch, root = scopes_of(lead.id.driver)
        return Card(
            whole=whole,
            vfs=vfs,
            number=minor if isinstance(minor, int) else place,
            pcie=attributes.get(switch if self._has_switches else root),
            numa=_single(attributes.get(NUMA_NODE)),
            refused=self._refused([one for one in (whole, *vfs[:1]) if one is not None]),
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
    if device.is_shareable or own:
        return own
    found = {str(name): _written(value) for name, value in attributes.items()}
    return found | {bare(name, device.id.driver): value for name, value in found.items()}


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
