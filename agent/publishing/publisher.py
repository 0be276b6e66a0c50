"""Makes one shelf hold the wanted slices: plan, apply, and look at what the server kept.

Documents enter; writes go out, one after the other, and stop at the first that fails or loses a field.
The caller waits and tries again. Never decides what is wanted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from agent.publishing.documents import Document
from agent.publishing.errors import NotThere, Outdated, Refused
from agent.publishing.forms import NotTaken, Taken
from agent.publishing.known import Known
from agent.publishing.metrics import Metrics
from agent.publishing.plan import Create, Delete, Update, Write, plan
from agent.publishing.ports import Shelf
from agent.publishing.sameness import dropped

_log = logging.getLogger("agent.publishing")


class FieldsDropped(Exception):
    """A stored slice lacks fields that were sent. Shape: ``fields`` as ``sameness.dropped`` names them."""

    def __init__(self, name: str, fields: frozenset[str]) -> None:
        self.fields = fields
        super().__init__(f"the API server dropped {', '.join(sorted(fields))} from {name}")


class Publisher:
    """Writes to one shelf what is wanted of it."""

    def __init__(self, shelf: Shelf, known: Known, metrics: Metrics) -> None:
        self._shelf = shelf
        self._known = known
        self._metrics = metrics
        self._question: tuple[tuple[Document, ...], tuple[Document, ...]] = (), ()
        self._answer: tuple[Write, ...] = ()

    def pending(self, wanted: Sequence[Document]) -> tuple[Write, ...]:
        """Return the writes that are missing."""
        # Asked at every look, mostly about the same objects: Python sees that at once, a plan compares all.
        question = tuple(wanted), tuple(self._known.documents())
        if question != self._question:
            self._question, self._answer = question, tuple(plan(*question))
        return self._answer

    def publish(self, wanted: Sequence[Document]) -> int:
        """Write what is missing and return the number of writes.

        Raises: ServerError; FieldsDropped as soon as a slice was stored without a field of ours.
        """
        writes = self.pending(wanted)
        for write in writes:
            self._apply(write)
        if writes:
            _log.info("published %s: %d writes", self._shelf.kind, len(writes))
        return len(writes)

    def ask(self, slices: Sequence[Document]) -> Taken | NotTaken:
        """Ask by dry runs whether the server would store these slices, and what it would drop."""
        lost: frozenset[str] = frozenset()
        for one in slices:
            try:
                lost |= dropped(one, self._shelf.create(one, dry_run=True))
            except Refused as error:
                return NotTaken(str(error))
        return Taken(lost)

    def _apply(self, write: Write) -> None:
        match write:
            case Create(document=document):
                self._keep(document, self._shelf.create(document), "create")
            case Update(document=document):
                try:
                    self._keep(document, self._shelf.replace(document), "update")
                except NotThere as error:  # deleted meanwhile: the watch will say so
                    raise Outdated(str(error)) from error
            case Delete(name=name, uid=uid, resource_version=version):
                self._delete(name, uid, version)

    def _delete(self, name: str, uid: str, version: str) -> None:
        try:
            self._shelf.delete(name, uid, version)
        except NotThere:
            _log.debug("%s %s was gone already", self._shelf.kind, name)
        self._known.deleted(name, uid)
        self._metrics.count("writes_total", kind=self._shelf.kind, verb="delete")

    def _keep(self, sent: Document, stored: Document, verb: str) -> None:
        self._known.wrote(stored)
        self._metrics.count("writes_total", kind=self._shelf.kind, verb=verb)
        if lost := dropped(sent, stored):
            raise FieldsDropped(f"{self._shelf.kind} {sent['metadata']['name']}", lost)
