"""Makes one shelf hold the wanted slices: plan, apply, and look at what the server kept.

Documents enter; writes go out, one after the other. What cannot be deleted keeps nothing else from being
written; all that failed is told at the end. The caller waits and tries again. Never decides what is wanted.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TypeVar

from agent.publishing.documents import Document
from agent.publishing.errors import NotThere, Outdated, Refused, ServerError, Unreachable
from agent.publishing.forms import NotTaken, Taken
from agent.publishing.metrics import Metrics
from agent.publishing.plan import Create, Delete, Update, Write, generation_of, plan
from agent.publishing.ports import Shelf
from agent.publishing.sameness import dropped

_log = logging.getLogger("agent.publishing")
_Some = TypeVar("_Some", bound=Write)


class FieldsDropped(Exception):
    """A stored slice lacks fields that were sent. Shape: ``fields`` as ``sameness.dropped`` names them."""

    def __init__(self, name: str, fields: frozenset[str]) -> None:
        self.fields = fields
        super().__init__(f"the API server dropped {', '.join(sorted(fields))} from {name}")


class NotAllWritten(Exception):
    """Some objects could not be written or deleted.

    Shape: ``failures`` in the order of the writes, never empty; ``is_complete`` says that all that is
           wanted is stored, beside something that should be gone.
    """

    def __init__(self, failures: Sequence[ServerError], *, is_complete: bool) -> None:
        self.failures = tuple(failures)
        self.is_complete = is_complete
        super().__init__("; ".join(map(str, failures)))


class Publisher:
    """Writes to one shelf what is wanted of it."""

    def __init__(self, shelf: Shelf, metrics: Metrics) -> None:
        self._shelf = shelf
        self._metrics = metrics
        self._question: tuple[tuple[Document, ...], tuple[Document, ...]] = (), ()
        self._answer: tuple[Write, ...] = ()

    def pending(self, wanted: Sequence[Document]) -> tuple[Write, ...]:
        """Return the writes that are missing."""
        # Asked at every look, mostly about the same objects: Python sees that at once, a plan compares all.
        question = tuple(wanted), self._shelf.documents()
        if question != self._question:
            self._question, self._answer = question, tuple(plan(*question))
        return self._answer

    def publish(self, wanted: Sequence[Document]) -> None:
        """Write what is missing.

        Raises: NotAllWritten, once everything else is done that makes sense; FieldsDropped as soon as a
                slice was stored without a field of ours.
        """
        missing, failures = self.pending(wanted), list[ServerError]()
        deletions = [one for one in missing if isinstance(one, Delete)]
        staying = self._apply_each(deletions, failures)
        if staying:
            missing = plan(wanted, self._shelf.documents(), {one.name for one in staying})
        if not any(isinstance(one, Unreachable) for one in failures):
            self._apply_each([one for one in missing if not isinstance(one, Delete)], failures)
        if failures:
            is_complete = all(isinstance(one, Delete) for one in self.pending(wanted))
            raise NotAllWritten(failures, is_complete=is_complete)
        if missing:
            _log.info("published %s: %d writes", self._shelf.kind, len(missing))

    def ask(self, slices: Sequence[Document]) -> Taken | NotTaken:
        """Ask by dry runs whether the server would store these slices, and what it would drop."""
        lost: frozenset[str] = frozenset()
        for one in slices:
            try:
                lost |= dropped(one, self._shelf.create(one, dry_run=True))
            except Refused as error:
                return NotTaken(str(error))
        return Taken(lost)

    def _apply_each(self, writes: Sequence[_Some], failures: list[ServerError]) -> list[_Some]:
        """Apply what can be applied and return what could not, adding why to ``failures``."""
        undone: list[_Some] = []
        for index, write in enumerate(writes):
            try:
                self._apply(write)
            except ServerError as error:
                failures.append(error)
                if self._ends(write, error):
                    return [*undone, *writes[index:]]
                undone.append(write)
        return undone

    def _ends(self, write: Write, error: ServerError) -> bool:
        """Whether the writes that follow a failed one would fail too, or do harm."""
        match write, error:
            case _, Unreachable() | NotThere():
                return True  # the server does not answer, or has no such kind
            case Delete(), _:
                return False
            case _, Outdated():
                return True  # somebody else writes this pool: two who go on would mix their slices
            case ((Create(document=document) | Update(document=document)), _):
                # Readers use a pool as a whole: until a generation has begun, the last one is whole.
                begun = map(generation_of, self._shelf.documents())
                return generation_of(document) not in begun

    def _apply(self, write: Write) -> None:
        match write:
            case Create(document=document):
                self._compare(document, self._shelf.create(document), "create")
            case Update(document=document):
                try:
                    self._compare(document, self._shelf.replace(document), "update")
                except NotThere as error:  # deleted meanwhile: the watch will say so
                    raise Outdated(str(error)) from error
            case Delete(name=name, uid=uid, resource_version=version):
                self._delete(name, uid, version)

    def _delete(self, name: str, uid: str, version: str) -> None:
        try:
            self._shelf.delete(name, uid, version)
        except NotThere:
            _log.debug("%s %s was gone already", self._shelf.kind, name)
        self._metrics.count("writes_total", kind=self._shelf.kind, verb="delete")

    def _compare(self, sent: Document, stored: Document, verb: str) -> None:
        self._metrics.count("writes_total", kind=self._shelf.kind, verb=verb)
        if lost := dropped(sent, stored):
            raise FieldsDropped(f"{self._shelf.kind} {sent['metadata']['name']}", lost)
