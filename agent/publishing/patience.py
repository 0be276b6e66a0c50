"""Keeps what cannot be read for a moment: a GPU or NIC stays as the last good look found it, for a few looks.

Takes one inventory after the other; returns each with what is missing because of an error, marked as
remembered. What is gone without an error is gone at once. One error would otherwise take a device from the
cluster, and the claims that wait for it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from agent.hardware.types import Bdf, GpuUuid, PhysicalFunction
from agent.inventory.model import GpuEntry, Inventory, Part
from agent.inventory.nic_facts import FunctionFacts
from agent.inventory.numbers.unlisted import UnlistedGpu

LOOKS: Final = 5
"""How many looks in a row may fail before a device is taken away."""
_FABRIC: Final = "fabric"


class Patience:
    """What earlier looks found, and how many looks in a row missed it. For one thread."""

    def __init__(self, looks: int = LOOKS) -> None:
        self._looks = looks
        self._last: Inventory | None = None
        self._before: Mapping[str, int] = {}
        self._missed: dict[str, int] = {}

    def completed(self, inventory: Inventory) -> Inventory:
        """Return an inventory with what it lacks because of errors, as far as it is remembered."""
        last, self._before, self._missed = self._last, self._missed, {}
        if last is not None and inventory.unread:
            inventory = self._with_nics(self._with_gpus(inventory, last), last)
        self._last = inventory
        return inventory

    def _keeps(self, what: str) -> bool:
        """Count a failed look at something; return whether it stays."""
        self._missed[what] = self._before.get(what, 0) + 1
        return self._missed[what] <= self._looks

    def _with_gpus(self, found: Inventory, last: Inventory) -> Inventory:
        if Part.FABRIC in found.unread and not last.fabric.is_unread and self._keeps(_FABRIC):
            found = replace(found, fabric=last.fabric)
        if Part.GPUS not in found.unread:
            return found
        known = {entry.gpu.uuid: entry for entry in last.gpus}
        read = [
            self._with_mig(self._with_topology(entry, known.get(entry.gpu.uuid)), known.get(entry.gpu.uuid))
            for entry in found.gpus
        ]
        kept = [entry for entry in _missing(last.gpus, read) if self._keeps(entry.gpu.uuid)]
        if not found.gpus and kept:
            found = replace(found, versions=last.versions, fabric=last.fabric, has_imex=last.has_imex)
        gpus = tuple(sorted((*read, *kept), key=lambda entry: entry.gpu.number))
        return replace(
            found,
            gpus=gpus,
            unlisted=self._unlisted(found, last, {entry.gpu.number for entry in gpus}),
            remembered=found.remembered | {entry.gpu.uuid for entry in kept},
        )

    def _unlisted(self, found: Inventory, last: Inventory, offered: set[int]) -> tuple[UnlistedGpu, ...]:
        """Return the GPUs outside the driver, without those that stay as they were: a name counts once."""
        known = offered | {one.number for one in found.unlisted}
        missing = (one for one in last.unlisted if one.number not in known)
        kept = [one for one in missing if self._keeps(f"GPU on PCI at {one.function.bdf}")]
        now = (one for one in found.unlisted if one.number not in offered)
        return tuple(sorted((*now, *kept), key=lambda one: one.number))

    def _with_topology(self, entry: GpuEntry, known: GpuEntry | None) -> GpuEntry:
        if entry.function is not None or known is None or known.function is None:
            return entry
        is_kept = self._keeps(f"topology of {entry.gpu.uuid}")
        return replace(entry, function=known.function) if is_kept else entry

    def _with_mig(self, entry: GpuEntry, known: GpuEntry | None) -> GpuEntry:
        """Return a GPU with the partitions of an earlier look if its MIG queries fail; the problem stays."""
        if not entry.mig_problem or known is None or not known.profiles:
            return entry
        is_kept = self._keeps(f"MIG of {entry.gpu.uuid}")
        if not is_kept:
            return entry
        return replace(entry, profiles=known.profiles, instances=known.instances, are_instances_known=True)

    def _with_nics(self, found: Inventory, last: Inventory) -> Inventory:
        if Part.NICS not in found.unread:
            return found
        unread = {one.bdf for one in found.unreadable}
        known = {pf.function.bdf: pf for pf in last.nics}
        nics = {pf.function.bdf: self._with_vfs(pf, known, unread) for pf in found.nics}
        for bdf, pf in known.items():
            if bdf not in nics and (bdf in unread or not found.nics) and self._keeps(bdf):
                nics[bdf] = pf
        facts = {bdf: self._facts(bdf, found, last) for bdf in _functions_of(nics.values())}
        old = {bdf for bdf, one in facts.items() if one.problem == "" != found.facts_of(bdf).problem}
        return replace(
            found,
            nics=tuple(nics[bdf] for bdf in sorted(nics)),
            functions=facts,
            remembered=found.remembered | old | (facts.keys() - found.functions.keys()),
        )

    def _with_vfs(
        self, pf: PhysicalFunction, known: Mapping[Bdf, PhysicalFunction], unread: Collection[Bdf | None]
    ) -> PhysicalFunction:
        before = known.get(pf.function.bdf, pf).vfs
        kept = [one for one in before if one.function.bdf in unread and self._keeps(one.function.bdf)]
        return replace(pf, vfs=tuple(sorted((*pf.vfs, *kept), key=lambda vf: vf.index))) if kept else pf

    def _facts(self, bdf: Bdf, found: Inventory, last: Inventory) -> FunctionFacts:
        now, before = found.facts_of(bdf), last.facts_of(bdf)
        if bdf in found.functions and not now.problem:
            is_partly = now.data_direct is None and before.data_direct is not None
            is_kept = is_partly and self._keeps(f"data-direct function of {bdf}")
            return replace(now, data_direct=before.data_direct) if is_kept else now
        is_known = bdf in last.functions and not before.problem
        return before if is_known and self._keeps(f"facts of {bdf}") else now


def _missing(known: Collection[GpuEntry], read: Collection[GpuEntry]) -> Iterator[GpuEntry]:
    """Yield the GPUs that are not there any more, without those whose place another GPU has by now."""
    taken: set[GpuUuid | Bdf | int] = set()
    for entry in read:
        taken |= {entry.gpu.uuid, entry.gpu.number, entry.gpu.bdf}
    for entry in known:
        if taken.isdisjoint((entry.gpu.uuid, entry.gpu.number, entry.gpu.bdf)):
            yield entry


def _functions_of(nics: Collection[PhysicalFunction]) -> Iterator[Bdf]:
    return (each for pf in nics for each in (pf.function.bdf, *(vf.function.bdf for vf in pf.vfs)))
