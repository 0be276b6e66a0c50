"""MultiNodePools and their slices at the API server: an adapter to the ports of ``controller.pools``.

It names ``kube_api`` beside ``controller.api``, since nothing else of the controller needs these objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import Event
from typing import Any, Final, TypeVar

from controller.model.claims import ClaimSeen
from controller.pools.ports import PoolWriteFailed, PoolWriteRefused
from controller.run.ports import WriteFailed
from kube_api import (
    RESOURCE_SLICES,
    Disconnected,
    Forbidden,
    Invalid,
    KubeApi,
    KubeApiError,
    NotFound,
    Object,
    Resource,
    Store,
    Unreadable,
)
from scheduler_core.frontends.multi_node.pool_object import API_VERSION, KIND
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.ownership import POOL_LABEL
from scheduler_core.publishing.documents import Document

MULTI_NODE_POOLS: Final = Resource.of(API_VERSION, KIND, "multinodepools")
_Answer = TypeVar("_Answer")


class ApiPools:
    """The objects, kept by a watch, and their statuses."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._store: Store[Document] = Store(_document)

    @property
    def is_synced(self) -> bool:
        """Whether all objects were listed once."""
        return self._store.is_synced

    def documents(self) -> tuple[Document, ...]:
        """Return the objects as far as they are known."""
        return self._store.values()

    def write_status(self, name: str, document: Mapping[str, Any]) -> None:
        """Merge a document into the status of an object."""
        stored = _written(lambda: self._api.patch(MULTI_NODE_POOLS, name, document, subresource="status"))
        self._store.wrote(stored)

    def write_finalizers(self, name: str, finalizers: tuple[str, ...], version: str) -> None:
        """Replace the finalizers of an object that still has this version."""
        patch = {"metadata": {"finalizers": list(finalizers), "resourceVersion": version}}
        try:
            stored = _written(lambda: self._api.patch(MULTI_NODE_POOLS, name, patch))
        except _Gone:
            return
        self._store.wrote(stored)

    def follow(self, stop: Event) -> Iterator[str]:
        """Keep the objects up to date until ``stop`` is set; yield what went wrong, empty for an event."""
        return _texts(self._api.follow(MULTI_NODE_POOLS, self._store, stop=stop))


class ApiInUse:
    """What nodes publish and claims hold.

    Shape: ``claims`` as they are watched; ``refresh`` reads them anew.
    """

    def __init__(
        self,
        api: KubeApi,
        driver: str,
        claims: Callable[[], Iterable[ClaimSeen]],
        refresh: Callable[[], None],
    ) -> None:
        self._api = api
        self._driver = driver
        self._claims = claims
        self._refresh = refresh

    def slices_of(self, node: str) -> tuple[Document, ...]:
        """Return our driver's slices of a node as they are at the server now."""
        fields = f"spec.driver={self._driver},spec.nodeName={node}"
        found = _written(lambda: self._api.list(RESOURCE_SLICES, field_selector=fields))
        return tuple(one.document for one in found.items)

    def claims(self) -> Iterable[AllocatedClaim]:
        """Return all allocated claims, as far as they are known."""
        return (one.held for one in self._claims() if one.held is not None)

    def refresh(self) -> None:
        """Read all claims as they are at the server now."""
        try:
            self._refresh()
        except WriteFailed as error:
            raise PoolWriteFailed(str(error)) from error


class ApiPoolSlices:
    """The slices of all pools that no node owns, kept by a watch."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api
        self._store: Store[Document] = Store(_document)

    @property
    def is_synced(self) -> bool:
        """Whether all slices were listed once."""
        return self._store.is_synced

    def documents(self) -> tuple[Document, ...]:
        """Return the slices as far as they are known."""
        return self._store.values()

    def create(self, document: Document, *, dry_run: bool = False) -> Document:
        """Create a slice and return it as stored."""
        stored = _written(lambda: self._api.create(RESOURCE_SLICES, document, dry_run=dry_run))
        if not dry_run:
            self._store.wrote(stored)
        return stored.document

    def replace(self, document: Document) -> Document:
        """Replace a slice that still has the version of the document."""
        stored = _written(lambda: self._api.replace(RESOURCE_SLICES, document))
        self._store.wrote(stored)
        return stored.document

    def delete(self, name: str, uid: str, resource_version: str) -> None:
        """Delete a slice that still has this version."""
        try:
            left = self._api.delete(RESOURCE_SLICES, name, uid=uid, resource_version=resource_version)
        except NotFound:
            left = None
        except KubeApiError as error:
            raise PoolWriteFailed(str(error)) from error
        if left is None:
            self._store.deleted(uid)
        else:
            self._store.wrote(left)

    def follow(self, stop: Event) -> Iterator[str]:
        """Keep the slices up to date until ``stop`` is set; yield what went wrong, empty for an event."""
        return _texts(self._api.follow(RESOURCE_SLICES, self._store, label_selector=POOL_LABEL, stop=stop))


def _document(found: Object) -> Document:
    return found.document


def _texts(events: Iterator[object]) -> Iterator[str]:
    for event in events:
        match event:
            case Unreadable():
                yield str(event)
            case Disconnected(error=error):
                yield str(error)
            case _:
                yield ""


class _Gone(PoolWriteFailed):
    """There is no such object any more."""


def _written(call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except NotFound as error:
        raise _Gone(str(error)) from error
    except (Invalid, Forbidden) as error:
        raise PoolWriteRefused(str(error)) from error
    except KubeApiError as error:
        raise PoolWriteFailed(str(error)) from error
