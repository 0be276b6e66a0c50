"""Finds the form in which the API server accepts a pool, by dry runs. Pure.

A server accepts a form, rejects it, or accepts it and drops the fields of features that are switched off.
Dry runs store nothing, so no incomplete slice is ever seen. Server versions play no part here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from agent.hardware.types import GpuInstance
from agent.health.findings import Findings
from agent.health.tainted import tainting, with_health
from agent.inventory.foreign.found import NOTHING, InTheWay
from agent.inventory.model import Inventory, NodeDevices
from agent.inventory.numbers.unlisted import with_unlisted
from agent.publishing.fixed import fixed_pool, without
from agent.publishing.taints.foreign import with_foreign
from agent.publishing.taints.owned import marked
from agent.publishing.taints.unreadable import with_unreadable
from agent.publishing.turns import by_turns
from agent.slices import projected
from scheduler_core.base.errors import CannotProject
from scheduler_core.codec import v1
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.packing import Packed, packed
from scheduler_core.model.pool import Pool
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.refusals import SliceEntry

GROUPS: Final = "consumesCounters.compatibilityGroups"
TAINTS: Final = "taints"
OVERLAP: Final = frozenset({"sharedCounters", "consumesCounters"})
"""Without these fields, devices that overlap would all seem free."""
_GATES: Final = {
    "sharedCounters": "DRAPartitionableDevices",
    "consumesCounters": "DRAPartitionableDevices",
    GROUPS: "DRADeviceCompatibilityGroups",
    TAINTS: "DRADeviceTaints",
    "bindingConditions": "DRADeviceBindingConditions",
    "bindingFailureConditions": "DRADeviceBindingConditions",
    "bindsToNode": "DRADeviceBindingConditions",
    "allowMultipleAllocations": "DRAConsumableCapacity",
}


class Form(StrEnum):
    """How the devices of a node are written into slices."""

    SEPARATE = "separate"  # counters in slices of their own
    TOGETHER = "together"  # counters beside the devices that draw from them
    FIXED = "fixed"  # no counters: only devices that cannot overlap


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the server accepts.

    Shape: ``lost`` are the fields that it drops; ``reason`` says why not all devices are published.
    """

    form: Form
    lost: frozenset[str] = frozenset()
    reason: str = ""

    @property
    def is_full(self) -> bool:
        """Whether every device of the node is published. The mark of an allocator is no device."""
        return self.form is not Form.FIXED and not self.lost - {TAINTS}


@dataclass(frozen=True, slots=True)
class Found:
    """The result of one discovery, as the publisher needs it.

    Shape: ``allocator`` is the value of the Node's label that says who allocates the devices, empty for none;
           ``is_whole`` whether everything on the node could be read; ``in_the_way`` the foreign instances;
           ``health`` what is wrong with devices, by their composite names and those of unlisted GPUs.
    """

    devices: NodeDevices
    instances: tuple[GpuInstance, ...] = ()
    allocator: str = ""
    is_whole: bool = True
    in_the_way: InTheWay = NOTHING
    health: Findings = field(default_factory=dict)

    @classmethod
    def of(cls, inventory: Inventory, devices: NodeDevices, in_the_way: InTheWay = NOTHING) -> Found:
        """Take the instances from the inventory that the devices were described from."""
        instances = tuple(one for entry in inventory.gpus for one in entry.instances)
        return cls(devices, instances, is_whole=not inventory.unread, in_the_way=in_the_way)


def documents(found: Found, verdict: Verdict) -> tuple[Document, ...]:
    """Return the node's v1 slices in a form, with the mark of its allocator. Raises: CannotProject."""
    return packed_documents(found, verdict)[0]


def packed_documents(
    found: Found, verdict: Verdict, before: Packed | None = None
) -> tuple[tuple[Document, ...], Packed]:
    """Return the slices, and how the pool lies in them: as before where it fits. Raises: CannotProject."""
    if verdict.form is Form.FIXED:
        pool = without(_with_taints(fixed_pool(found.devices, found.instances), found), verdict.lost)
        layout = Layout.SEPARATE
        before = None if before is not None and before.sources else before
    else:
        layout = Layout(verdict.form.value)
        pool = without(_with_taints(projected(found.devices, layout)[0], found), verdict.lost)
        pool = by_turns(pool) if GROUPS in verdict.lost else pool
    pool = _marked(pool, found, verdict)
    content = packed(pool, layout, before)
    return v1.encode_cuts(replace(pool, sources=content.sources), content.cuts), content


def _with_taints(pool: Pool, found: Found) -> Pool:
    """Return the pool with what nobody can have: where the server drops its taints, that is not published."""
    pool = with_unlisted(with_foreign(pool, found.devices, found.in_the_way), found.devices.unlisted)
    return with_health(pool, found.devices, found.health)


def _marked(pool: Pool, found: Found, verdict: Verdict) -> Pool:
    """Return the pool with the taints for its allocator and for what cannot be read.

    Where the server drops taints nothing is withheld: a claim for what cannot be read waits at its node.
    A device that its health keeps pods from says enough.
    """
    if TAINTS in verdict.lost:
        return pool
    unread = found.devices.remembered - tainting(found.health).keys()
    return marked(with_unreadable(pool, unread), found.allocator)


@dataclass(frozen=True, slots=True)
class Taken:
    """The server accepts the slices and drops these fields."""

    lost: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NotTaken:
    """The server rejects the slices. Shape: ``refused`` are the entries that it names, with their content."""

    reason: str
    refused: Mapping[SliceEntry, Mapping[str, Any]] = field(default_factory=dict)


Ask = Callable[[Sequence[Document]], Taken | NotTaken]
"""Asks whether the server would store these slices."""


def judge(found: Found, ask: Ask) -> Verdict:
    """Return the best form that the server accepts: all devices if it has counters, else fixed ones."""
    refusals: list[str] = []
    for form in (Form.SEPARATE, Form.TOGETHER):
        try:
            slices = documents(found, Verdict(form))
        except CannotProject as error:
            refusals.append(str(error))
            continue
        match ask(specimen(slices)):
            case Taken(lost=lost) if lost & OVERLAP:
                return Verdict(Form.FIXED, lost, _switched_off(lost))
            case Taken(lost=lost):
                return Verdict(form, lost, _switched_off(lost))
            case NotTaken(reason=reason):
                refusals.append(reason)
    return Verdict(Form.FIXED, reason="; ".join(refusals))


def after_loss(verdict: Verdict, lost: frozenset[str]) -> Verdict:
    """Return the verdict after a stored slice lacked fields that the dry run had kept."""
    all_lost = verdict.lost | lost
    form = Form.FIXED if all_lost & OVERLAP else verdict.form
    return replace(verdict, form=form, lost=all_lost, reason=_switched_off(all_lost))


def _switched_off(lost: Iterable[str]) -> str:
    """Return the sentence about dropped fields, empty if there are none."""
    fields = sorted(lost)
    if not fields:
        return ""
    gates = sorted({_GATES[field] for field in fields if field in _GATES})
    likely = f"; probably off there: feature gate {', '.join(gates)}" if gates else ""
    return f"the API server drops {', '.join(fields)}{likely}"


def fields_of(slices: Iterable[Document]) -> frozenset[str]:
    """Return the fields that slices use: of their spec, their devices and the devices' draws."""
    return frozenset(field for one in slices for field in _fields(one["spec"]))


def _fields(spec: Mapping[str, Any]) -> Iterator[str]:
    yield from spec
    for device in spec.get("devices") or ():
        yield from _kind(device)


def _kind(device: Mapping[str, Any]) -> frozenset[str]:
    draws = device.get("consumesCounters") or ()
    return frozenset({*device, *(f"draw.{field}" for draw in draws for field in draw)})


def specimen(slices: Sequence[Document]) -> tuple[Document, ...]:
    """Return a smallest sample of the slices that still has every field of theirs, under other names."""
    seen: set[frozenset[str]] = set()
    parts: list[Document] = []
    for one in slices:
        devices = list(_first_of_each_kind(one["spec"].get("devices") or (), seen))
        sets = one["spec"].get("sharedCounters") or ()
        if sets and not devices and frozenset({"sharedCounters"}) in seen:
            continue
        if sets and not devices:
            seen.add(frozenset({"sharedCounters"}))
        if devices or sets or not parts:
            parts.append(_reduced(one, devices, sets))
    return tuple(parts)


def _first_of_each_kind(
    devices: Iterable[Mapping[str, Any]], seen: set[frozenset[str]]
) -> Iterator[Mapping[str, Any]]:
    for device in devices:
        kind = _kind(device)
        if kind not in seen:
            seen.add(kind)
            yield device


def _reduced(
    one: Document, devices: Sequence[Mapping[str, Any]], sets: Sequence[Mapping[str, Any]]
) -> Document:
    drawn = {draw["counterSet"] for device in devices for draw in device.get("consumesCounters") or ()}
    kept = [entry for entry in sets if entry["name"] in drawn] or list(sets[:1])
    content = {"devices": devices, "sharedCounters": kept}
    spec = {key: value for key, value in one["spec"].items() if key not in content}
    spec |= {key: list(value) for key, value in content.items() if value}
    return trial_of({**one, "spec": spec})


def trial_of(slice_: Document) -> Document:
    """Return a slice under the name for a dry run, which no stored slice has."""
    metadata = {**slice_["metadata"], "name": f"{slice_['metadata']['name']}-trial"}
    return {**slice_, "metadata": metadata}
