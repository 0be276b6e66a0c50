"""PURE: what a policy means for the devices of one node, and what of it is in effect: the values of the file.

The fields are the format on disk, so each is explicit. What is None is not said: the options count then.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agent.hardware.types import Bdf, GpuUuid
from agent.health.rules import HealthRules
from agent.inventory.modes import MigPlace, ModesOfGpu
from agent.inventory.topology import StatedPlace
from agent.inventory.vfs.rules import VfRate, VfRule
from agent.policy.model import AttributeValue, NicKind
from scheduler_core.frontends.configuration.values import VfMode


class GpuSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What counts for one GPU.

    Shape: ``modes`` without any mode excludes it; ``profiles`` sorted, or ``layout`` by place, say what is
           cut from it.
    """

    modes: ModesOfGpu | None = None
    profiles: tuple[str, ...] | None = None
    layout: tuple[MigPlace, ...] | None = None
    compute_instances: bool | None = None
    attributes: dict[str, AttributeValue] = {}


class VfSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of one VF. Shape: ``modes`` sorted, None for those of its NIC."""

    excluded: bool = False
    modes: tuple[VfMode, ...] | None = None
    attributes: dict[str, AttributeValue] = {}


class NicSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What counts for one NIC.

    Shape: ``kinds`` and ``modes`` sorted; ``vfs`` by index; with ``keeps_vf_count`` nobody changes their
           number.
    """

    excluded: bool | None = None
    kinds: tuple[NicKind, ...] | None = None
    modes: tuple[VfMode, ...] | None = None
    keeps_vf_count: bool = False
    vf_rule: VfRule | None = None
    vf_rate: VfRate | None = None
    attributes: dict[str, AttributeValue] = {}
    vfs: dict[int, VfSettings] = {}


class LinkedSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Groups of GPUs: the name of a shipped table, or a table."""

    board: str | None = None
    table: dict[str, Any] | None = None
    is_honored: bool = False


class LogSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How agent and plugin log. Shape: as ``daemon.logs`` has it, None where it is not said."""

    form: str | None = None
    level: str | None = None


class Resolved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings of a node by device. Shape: GPUs by UUID, NICs and ``places`` by PCI address."""

    gpus: dict[GpuUuid, GpuSettings] = {}
    nics: dict[Bdf, NicSettings] = {}
    linked: LinkedSettings | None = None
    imex_channels: int | None = None
    multus_resource: str | None = None
    health: HealthRules | None = None
    places: dict[Bdf, StatedPlace] = {}
    logs: LogSettings | None = None


class Waiting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A device that keeps its settings while claims have it. Shape: ``device`` as people know it."""

    device: str
    why: str
