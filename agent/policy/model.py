"""PURE: a policy as its author wrote it: rules, each for some nodes, with settings for their devices.

Values only. ``reading`` makes them from a document, ``resolution`` finds out what they mean for one node.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from agent.hardware.types import Bdf, GpuUuid
from agent.health.rules import HealthRules
from agent.inventory.modes import ModesOfGpu
from agent.inventory.topology import StatedPlace
from agent.inventory.vfs.rules import VfRate, VfRule
from scheduler_core.base.errors import InvalidInput
from scheduler_core.frontends.configuration.values import VfMode

API_VERSION: Final = "tangram.dev/v1alpha1"
KIND: Final = "NodePolicy"
AttributeValue = str | int | bool
Attributes = Mapping[str, AttributeValue]


class InvalidPolicy(InvalidInput):
    """A policy that its author must correct. Shape: ``subject`` is the file, ``field`` a path in it."""


class Operator(StrEnum):
    """How a requirement compares a label, as in Kubernetes' label selectors."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Requirement:
    """What one label of a node must be. Shape: ``values`` is empty for the operators without values."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def is_met(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels of a node meet it. As in Kubernetes, NotIn holds where the label is missing."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None


class NicKind(StrEnum):
    """What of a NIC is offered, as the attribute ``type`` has it."""

    NIC = "nic"
    VF = "vf"


@dataclass(frozen=True, slots=True)
class GpuSelector:
    """Which GPUs an entry names. Shape: a GPU has to be in each list that is not None.

    ``products`` may have ``*`` for any characters.
    """

    products: tuple[str, ...] | None = None
    addresses: frozenset[Bdf] | None = None
    uuids: frozenset[GpuUuid] | None = None
    numbers: frozenset[int] | None = None

    def has_product(self, name: str) -> bool:
        """Whether a product's name is among those selected."""
        return self.products is None or any(_matches(pattern, name) for pattern in self.products)


@dataclass(frozen=True, slots=True)
class NicSelector:
    """Which NICs an entry names. Shape: a NIC has to be in each list that is not None."""

    addresses: frozenset[Bdf] | None = None
    interfaces: frozenset[str] | None = None
    link_types: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class LayoutPart:
    """Partitions of one MIG profile in a layout.

    Shape: ``start`` is None where their places are found. Units: ``start`` memory slices.
    """

    profile: str
    count: int = 1
    start: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRule:
    """What a policy says of some GPUs. Shape: what it says nothing about is None, or not there.

    ``path`` is where it stands in the file; ``select`` is None for all GPUs that no other entry names;
    ``modes`` without any mode excludes the GPUs; ``profiles`` are the MIG profiles that are offered, or
    ``layout`` the partitions.
    """

    path: str
    select: GpuSelector | None = None
    modes: ModesOfGpu | None = None
    profiles: frozenset[str] | None = None
    layout: tuple[LayoutPart, ...] | None = None
    compute_instances: bool | None = None
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class VfEntry:
    """What a policy says of some VFs of a NIC, by index. Shape: ``modes`` as in ``NicRule``."""

    path: str
    indexes: frozenset[int]
    is_excluded: bool | None = None
    modes: frozenset[VfMode] | None = None
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VfCount:
    """How many VFs a NIC has. Shape: ``rule`` is None where nobody changes the number."""

    rule: VfRule | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NicRule:
    """What a policy says of some NICs.

    Shape: as in ``GpuRule``; with a NIC its VFs are excluded, too; ``kinds`` whether the NIC itself and its
           VFs are offered, ``modes`` in which claims may have them.
    """

    path: str
    select: NicSelector | None = None
    is_excluded: bool | None = None
    kinds: frozenset[NicKind] | None = None
    modes: frozenset[VfMode] | None = None
    vf_count: VfCount | None = None
    vf_rate: VfRate | None = None
    attributes: Attributes = field(default_factory=dict)
    vfs: tuple[VfEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRule:
    """What a policy says of the place of some functions in the PCIe and NUMA topology.

    Shape: ``addresses`` by address, ``patterns`` with ``*`` for any characters.
    """

    path: str
    addresses: frozenset[Bdf] = frozenset()
    patterns: tuple[str, ...] = ()
    place: StatedPlace

    def has(self, bdf: Bdf) -> bool:
        """Whether a function is among them."""
        return bdf in self.addresses or any(_matches(pattern, bdf) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Linked:
    """Groups of GPUs joined by NVLink. Shape: the name of a shipped table, or a table as the file has it."""

    board: str | None = None
    table: Mapping[str, Any] | None = None
    is_honored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. Shape: ``nodes`` is empty for all nodes."""

    path: str
    nodes: tuple[Requirement, ...] = ()
    gpus: tuple[GpuRule, ...] = ()
    nics: tuple[NicRule, ...] = ()
    linked: Linked | None = None
    imex_channels: int | None = None
    multus_resource: str | None = None
    health: HealthRules | None = None
    places: tuple[PlaceRule, ...] = ()
    log_form: str | None = None
    log_level: str | None = None

    def is_for(self, labels: Mapping[str, str]) -> bool:
        """Whether the rule is for a node with these labels."""
        return all(one.is_met(labels) for one in self.nodes)


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy. Shape: ``subject`` names the file for messages."""

    subject: str
    rules: tuple[Rule, ...] = ()

    @property
    def needs_labels(self) -> bool:
        """Whether it has to be known what the labels of a node are."""
        return any(rule.nodes for rule in self.rules)


def _matches(pattern: str, text: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), text) is not None
