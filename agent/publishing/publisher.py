"""Writes the wanted slices of one kind: plans, applies, and compares what the server stored.

Takes documents; writes go out, one after the other. A failed deletion does not stop the other writes; all
failures are raised together at the end, and the caller retries. What is wanted is decided elsewhere.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeVar

from agent.publishing.errors import NameTaken, NotThere, Outdated, Refused, ServerError, Unreachable
from agent.publishing.forms import NotTaken, Taken
from agent.publishing.metrics import Metrics
from agent.publishing.ports import SliceStore
from agent.publishing.refusals import Refused as RefusedEntries
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.names import as_stored, renamed
from scheduler_core.publishing.plan import Create, Delete, Update, Write, generation_of, plan
from scheduler_core.publishing.refusals import refused_entries
from scheduler_core.publishing.sameness import dropped

_log = logging.getLogger("agent.publishing")
_Some = TypeVar("_Some", bound=Write)


class FieldsDropped(Exception):
    """A stored slice lacks fields that were sent. Shape: ``fields`` as ``sameness.dropped`` names them."""

    def __init__(self, name: str, fields: frozenset[str]) -> None:
        self.fields = fields
        super().__init__(f"the API server dropped {', '.join(sorted(fields))} from {name}")


class NotAllWritten(Exception):
    """Some objects could not be written or deleted.

    Shape: ``failures`` in the order of the writes, never empty; ``is_complete`` if all wanted slices are
           stored and only deletions failed; ``refused`` are entries that the server refuses, each with the
           content that was sent and the failure.
    """

    def __init__(
        self,
        failures: Sequence[ServerError],
        *,
        is_complete: bool,
        refused: Sequence[tuple[RefusedEntries, ServerError]] = (),
    ) -> None:
        self.failures = tuple(failures)
        self.is_complete = is_complete
        self.refused = tuple(refused)
        super().__init__("; ".join(map(str, failures)))


class Publisher:
    """Writes the objects of one kind as they are wanted.

    Shape: ``taken`` is called with each name that somebody else has; the object gets another name.
    """

    def __init__(
        self, store: SliceStore, metrics: Metrics, taken: Callable[[NameTaken], None] = lambda _: None
    ) -> None:
        self._store = store
        self._metrics = metrics
        self._taken = taken
        self._question: tuple[tuple[Document, ...], tuple[Document, ...]] = (), ()
        self._answer: tuple[Write, ...] = ()
        self._refused: list[tuple[RefusedEntries, ServerError]] = []

    def pending(self, wanted: Sequence[Document]) -> tuple[Write, ...]:
        """Return the writes that are missing."""
        # Called at every discovery, mostly with the same objects: comparing them is fast, planning is slow.
        question = tuple(wanted), self._store.documents()
        if question != self._question:
            self._question, self._answer = question, self._planned(wanted)
        return self._answer

    def publish(self, wanted: Sequence[Document]) -> None:
        """Write what is missing.

        Raises: NotAllWritten after all other sensible writes; FieldsDropped as soon as a slice was stored
                without a field that was sent.
        """
        missing, failures = self.pending(wanted), list[ServerError]()
        self._refused = []
        deletions = [one for one in missing if isinstance(one, Delete)]
        staying = self._apply_each(deletions, failures)
        if staying:
            missing = self._planned(wanted, {one.name for one in staying})
        if not any(isinstance(one, Unreachable) for one in failures):
            self._apply_each([one for one in missing if not isinstance(one, Delete)], failures)
        if failures:
            is_complete = all(isinstance(one, Delete) for one in self.pending(wanted))
            raise NotAllWritten(failures, is_complete=is_complete, refused=self._refused)
        if missing:
            _log.info("published %s: %d writes", self._store.kind, len(missing))

    def ask(self, slices: Sequence[Document]) -> Taken | NotTaken:
        """Ask by dry runs whether the server accepts these slices, and which fields it drops."""
        lost: frozenset[str] = frozenset()
        for one in slices:
            try:
                lost |= dropped(one, self._create(one, dry_run=True))
            except Refused as error:
                return NotTaken(str(error), refused_entries(one, error.fields))
        return Taken(lost)

    def _planned(
        self, wanted: Sequence[Document], staying: AbstractSet[str] = frozenset()
    ) -> tuple[Write, ...]:
        stored = self._store.documents()
        return tuple(plan(as_stored(wanted, stored), stored, staying))

    def _create(self, document: Document, *, dry_run: bool = False) -> Document:
        """Create an object, under a name that nobody can guess where somebody else has its own."""
        try:
            return self._store.create(document, dry_run=dry_run)
        except NameTaken as error:
            self._taken(error)
            return self._store.create(renamed(document, secrets.token_hex(4)), dry_run=dry_run)

    def _apply_each(self, writes: Sequence[_Some], failures: list[ServerError]) -> list[_Some]:
        """Apply the writes; return those that failed, and add the reasons to ``failures``."""
        undone: list[_Some] = []
        for index, write in enumerate(writes):
            try:
                self._apply(write)
            except ServerError as error:
                failures.append(error)
                self._note_refusal(write, error)
                if self._ends(write, error):
                    return [*undone, *writes[index:]]
                undone.append(write)
        return undone

    def _note_refusal(self, write: Write, error: ServerError) -> None:
        if isinstance(error, Refused) and not isinstance(write, Delete):
            found = refused_entries(write.document, error.fields)
            self._refused += [(found, error)] if found else []

    def _ends(self, write: Write, error: ServerError) -> bool:
        """Whether the writes after a failed one would fail too, or do harm."""
        match write, error:
            case _, Unreachable() | NotThere():
                return True  # the server does not answer, or has no such kind
            case Delete(), _:
                return False
            case _, Outdated():
                return True  # another writer is active: two writers would mix their slices in one pool
            case ((Create(document=document) | Update(document=document)), _):
                # Until a slice of a new generation is stored, readers use the last, complete one.
                begun = map(generation_of, self._store.documents())
                return generation_of(document) not in begun

    def _apply(self, write: Write) -> None:
        match write:
            case Create(document=document):
                self._compare(document, self._create(document), "create")
            case Update(document=document):
                try:
                    self._compare(document, self._store.replace(document), "update")
                except NotThere as error:  # deleted meanwhile: the watch will report it
                    raise Outdated(str(error)) from error
            case Delete(name=name, uid=uid, resource_version=version):
                self._delete(name, uid, version)

    def _delete(self, name: str, uid: str, version: str) -> None:
        try:
            self._store.delete(name, uid, version)
        except NotThere:
            _log.debug("%s %s was deleted already", self._store.kind, name)
        self._metrics.count("writes_total", kind=self._store.kind, verb="delete")

    def _compare(self, sent: Document, stored: Document, verb: str) -> None:
        self._metrics.count("writes_total", kind=self._store.kind, verb=verb)
        if lost := dropped(sent, stored):
            raise FieldsDropped(f"{self._store.kind} {sent['metadata']['name']}", lost)
