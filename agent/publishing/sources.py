"""The wanted slices of each kind, as far as the API server accepts them.

Takes the result of a discovery; returns documents. A source remembers which form the server accepts, and
reports each change of it. It writes nothing to the server.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from agent.inventory.model import NodeDevices
from agent.publishing.forms import (
    GROUPS,
    TAINTS,
    Ask,
    Form,
    Found,
    NotTaken,
    Taken,
    Verdict,
    after_loss,
    fields_of,
    judge,
    packed_documents,
    trial_of,
)
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents
from agent.publishing.stored_packing import composite_packed_in, packed_in
from agent.publishing.taints.composite import first_tainted, taints_of, with_taints
from agent.publishing.taints.owned import MARK
from agent.slices import CompositePacked, composite_packed, encoded, projected
from scheduler_core.base.errors import CannotProject
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.packing import Packed
from scheduler_core.model.ownership import CONTROLLER, OWNER
from scheduler_core.publishing.documents import Document

_log = logging.getLogger("agent.publishing")
_COUNTED: Final = "PartitionsPublished"
_NOT_COUNTED: Final = "PartitionsNotPublished"
_INCOMPLETE: Final = "DevicesNotPublished"
_TURNS: Final = "ModesTakeTurns"


class Source(Protocol):
    """The source of the wanted slices of one kind."""

    def wanted(self, found: Found, ask: Ask) -> tuple[Document, ...]:
        """Return the slices. Raises: CannotProject; ServerError from asking."""
        ...

    def adopt(self, stored: Sequence[Document]) -> None:
        """Keep everything in the slice where it is stored. Called once, before the first slices."""
        ...

    def lost(self, fields: frozenset[str]) -> bool:
        """Note that stored slices lack fields that were sent; return whether other slices are wanted now."""
        ...

    def doubt(self) -> None:
        """Ask the server again before the next slices: it may have restarted with other feature gates."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether the server stores all that the node has to say; else it is asked again now and then."""
        ...


class V1Source:
    """ResourceSlices of the core API, in the form that the server accepts.

    Shape: if it ``gives_way``, there are none where the controller allocates.
    """

    def __init__(self, metrics: Metrics, node_events: NodeEvents, *, gives_way: bool = False) -> None:
        self._gives_way = gives_way
        self._metrics = metrics
        self._node_events = node_events
        self._verdict: Verdict | None = None
        self._is_doubted = True
        self._asked: frozenset[str] = frozenset()
        self._last: tuple[Found, Verdict, tuple[Document, ...]] | None = None
        self._packed: Packed | None = None
        self._crowded: tuple[str, ...] = ()

    @property
    def is_full(self) -> bool:
        """Whether the server stores all that the node has to say."""
        return self._verdict is None or (self._verdict.is_full and not self._verdict.lost)

    def wanted(self, found: Found, ask: Ask) -> tuple[Document, ...]:
        """Return the slices; ask the server first if its answer is old or did not cover all their fields."""
        if self._gives_way and found.allocator == CONTROLLER:
            return ()
        verdict = self._verdict
        if verdict is not None and not self._is_doubted:
            try:
                slices = self._documents(found, verdict)
                if fields_of(slices) <= self._asked:
                    return slices
            except CannotProject as error:
                _log.info("trying other slice forms: %s", error)
        verdict = judge(found, ask)
        self._is_doubted = False
        self._settle(verdict)
        slices = self._documents(found, verdict)
        self._asked = fields_of(slices)
        return slices

    def adopt(self, stored: Sequence[Document]) -> None:
        """Keep every device and counter set in the slice where it is stored."""
        self._packed = packed_in(stored)

    def lost(self, fields: frozenset[str]) -> bool:
        """Note that stored slices lack fields that were sent."""
        before = self._verdict or Verdict(Form.SEPARATE)
        self._settle(after_loss(before, fields))
        return before != self._verdict

    def doubt(self) -> None:
        """Ask the server again before the next slices."""
        self._is_doubted = True

    def _documents(self, found: Found, verdict: Verdict) -> tuple[Document, ...]:
        """Return the slices; the result is cached while nothing in them has changed."""
        said = found if verdict.form is Form.FIXED else replace(found, instances=())
        if self._last is None or self._last[:2] != (said, verdict):
            slices, self._packed = packed_documents(said, verdict, self._packed)
            self._last = said, verdict, slices
            self._warn_crowded(said, verdict)
        return self._last[2]

    def _warn_crowded(self, found: Found, verdict: Verdict) -> None:
        """Report each NIC that has too many VFs for slices of 1.34, once."""
        crowded = projected(found.devices, Layout.TOGETHER)[1] if verdict.form is Form.TOGETHER else ()
        for sentence in crowded:
            if sentence not in self._crowded:
                _log.warning("%s", sentence)
                self._node_events.warn(_INCOMPLETE, sentence)
        self._crowded = crowded

    def _settle(self, verdict: Verdict) -> None:
        """Use this verdict from now on, and report it if it differs from the last one."""
        before, self._verdict = self._verdict, verdict
        self._metrics.only("form", "form", {str(form): float(form is verdict.form) for form in Form})
        self._metrics.only("dropped_field", "field", dict.fromkeys(sorted(verdict.lost), 1.0))
        if before is not None and (before.form, before.lost) == (verdict.form, verdict.lost):
            return
        if not verdict.is_full:
            self._tell_partial(verdict)
        elif before is not None and not before.is_full:
            text = f"the API server stores counters again: all devices are published ({verdict.form} form)"
            _log.info(text)
            self._node_events.note(_COUNTED, text)
        else:
            _log.info("publishing counters in the form %s", verdict.form)

    def _tell_partial(self, verdict: Verdict) -> None:
        if verdict.form is Form.FIXED:
            reason, what = _NOT_COUNTED, "only devices that cannot overlap are published"
        elif verdict.lost - {TAINTS} == {GROUPS}:
            reason, what = _TURNS, "all devices are published, and modes of one GPU take turns"
        else:
            reason, what = _INCOMPLETE, "devices that need them are not published"
        text = f"{what}: {verdict.reason}; the cluster administrator must fix this"
        _log.warning(text)
        self._node_events.warn(reason, text)


class CompositeSource:
    """CompositeResourceSlices: a custom resource, stored as sent if its definition is of this version.

    An earlier definition has no taints. While a device has one, nothing is published there: the device would
    seem free, and whoever finds no composite slices reads the v1 slices of the same pool.

    Where the controller allocates, slices that are ``is_alone``, without v1 slices beside them, have the mark
    of the controller on every device, by which it knows that kube-scheduler does not see these devices.
    """

    def __init__(self, *, is_alone: bool = False) -> None:
        self._is_alone = is_alone
        self._last: tuple[NodeDevices, tuple[Document, ...]] | None = None
        self._packed: CompositePacked | None = None
        self._keeps_taints: bool | None = None  # not known before the first taint
        self._is_told = False

    @property
    def is_full(self) -> bool:
        """Whether the server stores taints, as far as that is known."""
        return self._keeps_taints is not False

    def wanted(self, found: Found, ask: Ask) -> tuple[Document, ...]:
        """Return the slices, each with the counts that ``kubectl get`` shows."""
        taints = taints_of(found.devices, found.in_the_way, found.health)
        is_marked = self._is_alone and found.allocator == CONTROLLER
        if is_marked:
            taints = {name: (*taints.get(name, ()), MARK) for name in found.devices.by_name}
        slices = self._documents(with_taints(found.devices, taints), is_marked=is_marked)
        if not taints:
            return slices
        if self._keeps_taints is None:
            self._settle(ask([trial_of(first_tainted(slices))]))
        return slices if self._keeps_taints else ()

    def adopt(self, stored: Sequence[Document]) -> None:
        """Keep every device and mixin in the slice where it is stored."""
        self._packed = composite_packed_in(stored)

    def lost(self, fields: frozenset[str]) -> bool:
        """Log that the installed CustomResourceDefinition is not of this version."""
        self._tell(fields)
        if TAINTS not in fields or self._keeps_taints is False:
            return False
        self._keeps_taints = False
        return True

    def doubt(self) -> None:
        """Ask the server about taints again: somebody may have installed another definition."""
        self._keeps_taints = None

    def _documents(self, devices: NodeDevices, *, is_marked: bool) -> tuple[Document, ...]:
        if self._last is None or self._last[0] != devices:
            self._packed = composite_packed(devices, self._packed)
            # By the label the controller's watch selects slices; the marks say whether they count. An update
            # takes no label away, since others may have set it.
            labels = {"labels": {OWNER: CONTROLLER}} if is_marked else {}
            slices = tuple(_with_metadata(one, labels) for one in encoded(self._packed.slices))
            self._last = devices, slices
        return self._last[1]

    def _settle(self, answer: Taken | NotTaken) -> None:
        lost = answer.lost if isinstance(answer, Taken) else frozenset[str]()
        self._keeps_taints = TAINTS not in lost
        if self._keeps_taints:
            self._is_told = False
        elif not self._is_told:
            self._is_told = True
            self._tell(lost)

    def _tell(self, fields: frozenset[str]) -> None:
        _log.error(
            "the API server drops %s of CompositeResourceSlices: the administrator must install this "
            "version's CustomResourceDefinition%s",
            ", ".join(sorted(fields)),
            "; until then there are none while a device has a taint" if TAINTS in fields else "",
        )


def _with_metadata(slice_: Document, labels: Document) -> Document:
    spec = slice_["spec"]
    counts = {
        "tangram.dev/devices": str(len(spec.get("devices") or ())),
        "tangram.dev/mixins": str(len(spec.get("deviceMixins") or ())),
    }
    return {**slice_, "metadata": {**slice_["metadata"], **labels, "annotations": counts}}
