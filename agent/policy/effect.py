"""PURE: which settings are in effect on a node: those of the policy, except on devices that claims have.

A device that a claim has keeps the settings that it had, until no claim has it. A device that nobody has, and
one that was not there before, gets the policy's settings at once. What operators say of devices, and the
rules of health, count at once, since they change no device.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from agent.hardware.types import Bdf, ComputeSpec, GpuUuid, MigSpec
from agent.inventory.published import Hardware, ImexChannel, InShares, NicFunction, UnderMps
from agent.policy.resolved import GpuSettings, NicSettings, Resolved, VfSettings, Waiting

_HELD: Final = "claims have it, and it keeps its settings until the last of them ends"
_UNKNOWN: Final = "not all records of claims can be read, so it keeps its settings"


@dataclass(frozen=True, slots=True)
class Held:
    """What claims have. Shape: with ``is_unknown`` any device may be held."""

    gpus: frozenset[GpuUuid] = frozenset()
    nics: frozenset[Bdf] = frozenset()
    has_imex: bool = False
    is_unknown: bool = False

    @classmethod
    def of(cls, hardware: frozenset[Hardware] | None) -> Held:
        """Return what the recorded hardware of all claims is; None where nobody knows it."""
        if hardware is None:
            return cls(is_unknown=True)
        gpus, nics, has_imex = set[GpuUuid](), set[Bdf](), False
        for one in hardware:
            match one:
                case MigSpec(parent=uuid) | InShares(gpu=uuid) | UnderMps(gpu=uuid):
                    gpus.add(uuid)
                case ComputeSpec(partition=partition):
                    gpus.add(partition.parent)
                case NicFunction(pf=pf):
                    nics.add(pf)
                case ImexChannel():
                    has_imex = True
                case frozenset():
                    gpus |= one
        return cls(frozenset(gpus), frozenset(nics), has_imex)


@dataclass(frozen=True, slots=True)
class Effect:
    """What is in effect, and what waits for the end of claims."""

    settings: Resolved
    waiting: tuple[Waiting, ...] = ()


def in_effect(before: Resolved, wanted: Resolved, held: Held, names: Mapping[str, str]) -> Effect:
    """Return what is in effect from now on.

    Shape: ``before`` what was in effect, without devices that had no settings yet; ``names`` of devices by
           UUID or PCI address, for people. Devices that are not there now keep what they had.
    """
    why, waiting = _UNKNOWN if held.is_unknown else _HELD, dict[str, Waiting]()
    gpus, nics = dict(before.gpus), dict(before.nics)
    for uuid, gpu in wanted.gpus.items():
        had = before.gpus.get(uuid, GpuSettings())
        gpus[uuid] = msgspec.structs.replace(had, attributes=gpu.attributes)
        if held.is_unknown or uuid in held.gpus:
            if gpus[uuid] != gpu:
                waiting[uuid] = Waiting(device=names.get(uuid, uuid), why=why)
        else:
            gpus[uuid] = gpu
    for bdf, nic in wanted.nics.items():
        nics[bdf] = _relabelled(before.nics.get(bdf, NicSettings()), nic)
        if held.is_unknown or bdf in held.nics:
            if nics[bdf] != nic:
                waiting[bdf] = Waiting(device=names.get(bdf, bdf), why=why)
        else:
            nics[bdf] = nic
    linked, imex = wanted.linked, wanted.imex_channels
    if linked != before.linked and (held.gpus or held.is_unknown):
        linked = before.linked
        waiting["partitions"] = Waiting(device="partitions of GPUs", why=why)
    if imex != before.imex_channels and (held.has_imex or held.is_unknown):
        imex = before.imex_channels
        waiting["imex"] = Waiting(device="IMEX channels", why=why)
    settings = msgspec.structs.replace(wanted, gpus=gpus, nics=nics, linked=linked, imex_channels=imex)
    return Effect(settings, tuple(waiting.values()))


def _relabelled(had: NicSettings, wanted: NicSettings) -> NicSettings:
    """Return the settings that a NIC had, with the attributes that are wanted for it and its VFs."""
    vfs = {}
    for index in sorted(had.vfs.keys() | wanted.vfs.keys()):
        before, after = had.vfs.get(index, VfSettings()), wanted.vfs.get(index, VfSettings())
        vfs[index] = msgspec.structs.replace(before, attributes=after.attributes)
    kept = {index: vf for index, vf in vfs.items() if index in wanted.vfs or vf != VfSettings()}
    return msgspec.structs.replace(had, attributes=wanted.attributes, vfs=kept)
