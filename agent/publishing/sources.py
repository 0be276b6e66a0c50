"""What each kind of slice should say of this node, and the server's answer that it depends on.

Discovery's findings enter, documents leave. A source remembers what the server takes and says so when
that changes; it writes nothing.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final, Protocol

from agent.inventory.model import NodeDevices
from agent.publishing.documents import Document
from agent.publishing.forms import Ask, Form, Found, Verdict, after_loss, documents, fields_of, judge
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Notices
from agent.slices import composite_slices, encoded
from scheduler_core.base.errors import CannotProject

_log = logging.getLogger("agent.publishing")
_COUNTED: Final = "PartitionsPublished"
_NOT_COUNTED: Final = "PartitionsNotPublished"
_INCOMPLETE: Final = "DevicesNotPublished"


class Source(Protocol):
    """Says what one shelf should hold."""

    def wanted(self, found: Found, ask: Ask) -> tuple[Document, ...]:
        """Return the slices. Raises: CannotProject; ServerError from asking."""
        ...

    def lost(self, fields: frozenset[str]) -> bool:
        """Take in that stored slices lack fields of ours; return whether other slices are wanted now."""
        ...

    def doubt(self) -> None:
        """Ask the server again before the next slices: it may have been restarted otherwise."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether everything is published that is on the node."""
        ...


class V1Source:
    """ResourceSlices of the core API, in the form that the server takes."""

    def __init__(self, metrics: Metrics, notices: Notices) -> None:
        self._metrics = metrics
        self._notices = notices
        self._verdict: Verdict | None = None
        self._is_doubted = True
        self._asked: frozenset[str] = frozenset()
        self._last: tuple[Found, Verdict, tuple[Document, ...]] | None = None

    @property
    def is_full(self) -> bool:
        """Whether everything is published that is on the node."""
        return self._verdict is None or self._verdict.is_full

    def wanted(self, found: Found, ask: Ask) -> tuple[Document, ...]:
        """Return the slices, asking first where the server's answer is old or was about less."""
        verdict = self._verdict
        if verdict is not None and not self._is_doubted:
            try:
                slices = self._documents(found, verdict)
                if fields_of(slices) <= self._asked:
                    return slices
            except CannotProject as error:
                _log.info("looking for another form: %s", error)
        verdict = judge(found, ask)
        self._is_doubted = False
        self._settle(verdict)
        slices = self._documents(found, verdict)
        self._asked = fields_of(slices)
        return slices

    def lost(self, fields: frozenset[str]) -> bool:
        """Take in that stored slices lack fields of ours."""
        before = self._verdict or Verdict(Form.SEPARATE)
        self._settle(after_loss(before, fields))
        return before != self._verdict

    def doubt(self) -> None:
        """Ask the server again before the next slices."""
        self._is_doubted = True

    def _documents(self, found: Found, verdict: Verdict) -> tuple[Document, ...]:
        """Return the slices, those of the last time where nothing that they say has changed."""
        said = found if verdict.form is Form.FIXED else replace(found, instances=())
        if self._last is None or self._last[:2] != (said, verdict):
            self._last = said, verdict, documents(said, verdict)
        return self._last[2]

    def _settle(self, verdict: Verdict) -> None:
        """Publish by this verdict from now on, and tell where it differs from the last."""
        before, self._verdict = self._verdict, verdict
        self._metrics.only("form", "form", {str(form): float(form is verdict.form) for form in Form})
        self._metrics.only("dropped_field", "field", dict.fromkeys(sorted(verdict.lost), 1.0))
        if before is not None and (before.form, before.lost) == (verdict.form, verdict.lost):
            return
        if not verdict.is_full:
            self._tell_partial(verdict)
        elif before is not None and not before.is_full:
            text = f"the API server counts again: all devices are published ({verdict.form} counters)"
            _log.info(text)
            self._notices.note(_COUNTED, text)
        else:
            _log.info("counters are published in the form %s", verdict.form)

    def _tell_partial(self, verdict: Verdict) -> None:
        if verdict.form is Form.FIXED:
            reason, what = _NOT_COUNTED, "only devices that cannot overlap are published"
        else:
            reason, what = _INCOMPLETE, "devices that need them are not published"
        text = f"{what}: {verdict.reason}; the cluster's administrator can mend that"
        _log.warning(text)
        self._notices.warn(reason, text)


class CompositeSource:
    """CompositeResourceSlices: a custom resource, which stores what it is sent."""

    is_full = True

    def __init__(self) -> None:
        self._last: tuple[NodeDevices, tuple[Document, ...]] | None = None

    def wanted(self, found: Found, ask: Ask) -> tuple[Document, ...]:  # noqa: ARG002 - nothing to ask here
        """Return the slices, each with the counts that a table of them shows."""
        if self._last is None or self._last[0] != found.devices:
            slices = tuple(_counted(one) for one in encoded(composite_slices(found.devices)))
            self._last = found.devices, slices
        return self._last[1]

    def lost(self, fields: frozenset[str]) -> bool:
        """Say that the installed definition is not ours."""
        _log.error(
            "CompositeResourceSlices lack %s: the administrator must install this version's definition",
            ", ".join(sorted(fields)),
        )
        return False

    def doubt(self) -> None:
        """Nothing to ask."""


def _counted(slice_: Document) -> Document:
    spec = slice_["spec"]
    counts = {
        "tangram.dev/devices": str(len(spec.get("devices") or ())),
        "tangram.dev/mixins": str(len(spec.get("deviceMixins") or ())),
    }
    return {**slice_, "metadata": {**slice_["metadata"], "annotations": counts}}
