"""Writes the slices of pools that no node owns: asks first, writes in order, compares what was stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from controller.pools.ports import PoolSlices, PoolWriteRefused
from scheduler_core.frontends.multi_node.pool_object import of_pool
from scheduler_core.model.ownership import MULTI_NODE
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.plan import Create, Delete, Update, Write, plan
from scheduler_core.publishing.sameness import dropped

_PER_DEVICE: Final = "perDeviceNodeSelection"
_TAINTS: Final = "taints"
_TRIAL: Final = "-trial"


class FieldsDropped(Exception):
    """The server dropped fields of a slice. Shape: the text is a sentence for the status."""

    def __init__(self, fields: frozenset[str]) -> None:
        gates = {"DRADeviceTaints" if one == _TAINTS else "DRAPartitionableDevices" for one in fields}
        names, gate = ", ".join(sorted(fields)), ", ".join(sorted(gates))
        super().__init__(f"the API server drops {names}; switch on the feature gate {gate} there")


class PoolWriting:
    """The writes to the slices of all pools. Used by one thread. Shape: ``count`` how many were begun."""

    def __init__(self, slices: PoolSlices) -> None:
        self._slices = slices
        self.count = 0

    def stored(self, name: str) -> tuple[Document, ...]:
        """Return the stored slices of one object."""
        return of_pool(name, self._slices.documents())

    def all_stored(self) -> tuple[Document, ...]:
        """Return the stored slices of all pools."""
        return self._slices.documents()

    def reach(self, name: str, wanted: Sequence[Document]) -> None:
        """Create, update and delete slices until those of one object are as wanted.

        Raises: FieldsDropped, PoolWriteFailed.
        """
        self._apply(plan(wanted, self.stored(name)))

    def ask(self, wanted: Sequence[Document]) -> None:
        """Ask by dry runs whether the server takes the slices whole.

        Raises: FieldsDropped, PoolWriteFailed.
        """
        lost: frozenset[str] = frozenset()
        for one in wanted:
            try:
                lost |= dropped(one, self._slices.create(_trial(one), dry_run=True))
            except PoolWriteRefused as error:
                # A server that drops the field by which devices select nodes misses any selection then.
                if _PER_DEVICE in one["spec"] and _PER_DEVICE in str(error):
                    lost |= {_PER_DEVICE}
                if lost:
                    raise FieldsDropped(lost) from error
                raise
        if lost:
            raise FieldsDropped(lost)

    def _apply(self, writes: Iterable[Write]) -> None:
        """Make the writes in their order. After one that failed, the rest would mix two generations."""
        for write in writes:
            self.count += 1
            match write:
                case Create(document=document):
                    _refuse_loss(document, self._slices.create(document))
                case Update(document=document):
                    _refuse_loss(document, self._slices.replace(document))
                case Delete(name=name, uid=uid, resource_version=version):
                    self._slices.delete(name, uid, version)


def _refuse_loss(sent: Document, stored: Document) -> None:
    if lost := dropped(sent, stored):
        raise FieldsDropped(lost)


def published_names(stored: Iterable[Document]) -> frozenset[str]:
    """Return the names of the objects that stored slices belong to."""
    pools = (str(one["spec"]["pool"]["name"]) for one in stored)
    return frozenset(name.removeprefix(MULTI_NODE) for name in pools if name.startswith(MULTI_NODE))


def _trial(document: Document) -> Document:
    """Return a slice for a dry run, under a name that no stored one has."""
    metadata = document["metadata"]
    return {**document, "metadata": {**metadata, "name": f"{metadata['name']}{_TRIAL}"}}
