"""The API server as the agent needs it: adapters from ``kube_api`` to the ports of ``agent.publishing``.

No other module of the agent names ``kube_api``. Every failure is raised as a ``ServerError``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from agent.publishing import errors
from agent.publishing.ports import Heard, Interrupted, WatchMessage
from daemon.authorization import Review, reviewing
from daemon.oldest_server import refusal
from kube_api import (
    NODES,
    RESOURCE_SLICES,
    AlreadyExists,
    Changed,
    Conflict,
    Disconnected,
    EventType,
    EventWriter,
    Forbidden,
    Invalid,
    KubeApi,
    KubeApiError,
    Limits,
    NotFound,
    Object,
    Regarding,
    Resource,
    Store,
    Unavailable,
    Unreadable,
    is_allowed,
)
from scheduler_core.base.errors import CoreError
from scheduler_core.codec import composite
from scheduler_core.codec.members import members_of
from scheduler_core.model.ownership import OWNER, POOL_LABEL
from scheduler_core.publishing.documents import Document, has_fields, name_of

COMPOSITE_SLICES: Final = Resource.of(composite.API_VERSION, composite.KIND, "compositeresourceslices")
_REVIEWS: Final = Limits(calls_per_s=5.0, burst=10, call_timeout_s=5.0, attempts=1)
_log = logging.getLogger("agent")
_Answer = TypeVar("_Answer")


class Cluster:
    """One API server, asked on behalf of the agent of one node."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    @classmethod
    def connect(cls, kubeconfig: Path | None, context: str | None) -> Self:
        """Find the API server; nothing is sent yet. Raises: ServerError."""
        return cls(_asked(lambda: KubeApi.connect(kubeconfig, context, user_agent="tangram-agent")))

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def refusal(self) -> str:
        """Return why this server cannot be used, empty where it can. Raises: ServerError."""
        if _asked(lambda: self._api.serves(RESOURCE_SLICES)):
            return ""
        return refusal(_asked(self._api.server_version))

    def resource_slices(self, driver: str, node: str) -> ApiSliceStore:
        """Return the ResourceSlices of a driver on a node."""
        return ApiSliceStore(self._api, RESOURCE_SLICES, f"spec.driver={driver},spec.nodeName={node}")

    def published(self, driver: str, node: str) -> tuple[Document, ...]:
        """Return the ResourceSlices of a driver on a node as the server has them now. Raises: ServerError."""
        fields = f"spec.driver={driver},spec.nodeName={node}"
        found = _asked(lambda: self._api.list(RESOURCE_SLICES, field_selector=fields))
        return tuple(one.document for one in found.items)

    def composite_slices(self, driver: str, node: str) -> ApiSliceStore:
        """Return the CompositeResourceSlices of a driver on a node."""
        # A slice that selects a node per device has no spec.nodeName; its pool has the node's name.
        return ApiSliceStore(self._api, COMPOSITE_SLICES, f"spec.driver={driver},spec.pool.name={node}")

    def nodes(self) -> NodeObjects:
        """Return the Node objects."""
        return NodeObjects(self._api)

    def own_node(self, name: str) -> ApiNode:
        """Return a Node object whose label is watched."""
        return ApiNode(self._api, name)

    def gpus_of_pools(self, driver: str, node: str) -> ApiGpusOfPools:
        """Return the GPUs of a node that belong to pools of several nodes of a driver."""
        return ApiGpusOfPools(self._api, driver, node)

    def events_of(self, node: str) -> NodeEvents:
        """Return a writer of events about a Node; its caller closes it."""
        return NodeEvents(self._api, node)


class ApiSliceStore:
    """The objects of one kind that a field selector matches."""

    def __init__(self, api: KubeApi, resource: Resource, fields: str) -> None:
        self._api = api
        self._resource = resource
        self._fields = fields
        self._store: Store[Document] = Store(lambda found: found.document)

    @property
    def kind(self) -> str:
        """Return the kind, as messages name it."""
        return self._resource.kind

    @property
    def is_listed(self) -> bool:
        """Whether all objects were listed once."""
        return self._store.is_synced

    def documents(self) -> tuple[Document, ...]:
        """Return the objects as far as they are known, by name."""
        return tuple(sorted(self._store.values(), key=name_of))

    def create(self, document: Document, *, dry_run: bool = False) -> Document:
        """Create an object and return it as the server stored it."""
        try:
            stored = self._api.create(self._resource, document, dry_run=dry_run)
        except AlreadyExists as error:
            raise self._why_taken(name_of(document), error) from error
        except KubeApiError as error:
            raise _translated(error) from error
        if not dry_run:
            self._store.wrote(stored)
        return stored.document

    def _why_taken(self, name: str, error: AlreadyExists) -> errors.ServerError:
        """Return whether a name is taken by an object of this node, which the watch will report, or not."""
        found = _asked(lambda: self._api.list(self._resource, field_selector=f"metadata.name={name}")).items
        if all(has_fields(one.document, self._fields) for one in found):
            return errors.Outdated(str(error))
        return errors.NameTaken(self.kind, found[0].document)

    def replace(self, document: Document) -> Document:
        """Replace an object if it still has the version that the document names."""
        stored = _asked(lambda: self._api.replace(self._resource, document))
        self._store.wrote(stored)
        return stored.document

    def delete(self, name: str, uid: str, resource_version: str) -> None:
        """Delete an object if it still has this version."""
        try:
            left = _asked(
                lambda: self._api.delete(self._resource, name, uid=uid, resource_version=resource_version)
            )
        except errors.NotThere:
            self._store.deleted(uid)
            raise
        if left is None:
            self._store.deleted(uid)
        else:
            self._store.wrote(left)

    def changes(self, stop: threading.Event) -> Iterator[WatchMessage]:
        """Keep the documents up to date until ``stop`` is set; yield a message for each event."""
        events = self._api.follow(self._resource, self._store, field_selector=self._fields, stop=stop)
        return _messages(events, self.kind)


class NodeObjects:
    """The Node objects at the API server."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def uid(self, name: str) -> str:
        """Return the UID of a node."""
        return _asked(lambda: self._api.get(NODES, name)).metadata.uid


class ApiNode:
    """One Node object at the API server, watched for who allocates its devices."""

    kind = NODES.kind

    def __init__(self, api: KubeApi, name: str) -> None:
        self._api = api
        self._name = name
        self._store: Store[str] = Store(lambda found: found.metadata.labels.get(OWNER, ""))

    @property
    def allocator(self) -> str | None:
        """Return the label's value, empty without label or node, None before it is known."""
        return next(iter(self._store.values()), "") if self._store.is_synced else None

    def changes(self, stop: threading.Event) -> Iterator[WatchMessage]:
        """Keep the label up to date until ``stop`` is set; yield a message for each event."""
        fields = f"metadata.name={self._name}"
        return _messages(self._api.follow(NODES, self._store, field_selector=fields, stop=stop), self.kind)


class ApiGpusOfPools:
    """The slices of pools that no node owns, as far as they name GPUs of one node.

    Shape: ``kind`` is a name of its own: log and metrics tell this watch from that of the node's slices.
    """

    kind = "MultiNodeSlice"

    def __init__(self, api: KubeApi, driver: str, node: str) -> None:
        self._api = api
        self._driver = driver
        self._node = node
        self._store: Store[tuple[str, frozenset[int]]] = Store(self._read)

    @property
    def pools(self) -> Mapping[int, str] | None:
        """Return the pool of each GPU by the GPU's minor, None before they are known."""
        if not self._store.is_synced:
            return None
        return {minor: pool for pool, minors in sorted(self._store.values()) for minor in sorted(minors)}

    def changes(self, stop: threading.Event) -> Iterator[WatchMessage]:
        """Keep them up to date until ``stop`` is set; yield a message for each event."""
        found = self._api.follow(
            RESOURCE_SLICES,
            self._store,
            label_selector=POOL_LABEL,
            field_selector=f"spec.driver={self._driver}",
            stop=stop,
        )
        return _messages(found, self.kind)

    def _read(self, found: Object) -> tuple[str, frozenset[int]]:
        try:
            members = members_of([found.document])
        except CoreError as error:
            _log.error("%s; its author must correct it, and GPUs that it means are not withheld", error)
            members = {}
        mine = (minors for nodes in members.values() for minors in (nodes.get(self._node, ()),))
        return str(found.document["spec"]["pool"]["name"]), frozenset(one for each in mine for one in each)


class NodeEvents:
    """Writes events about a Node object."""

    def __init__(self, api: KubeApi, node: str) -> None:
        # Events about a node have its name as UID, as those of the kubelet: kubectl describe searches for it.
        self._node = Regarding(api_version="v1", kind="Node", name=node, uid=node)
        self._writer = EventWriter(api, "tangram.dev/agent", time.time, node)

    def warn(self, reason: str, text: str) -> None:
        """Report that something is wrong."""
        self._emit("Warning", reason, text)

    def note(self, reason: str, text: str) -> None:
        """Report that something is better than before."""
        self._emit("Normal", reason, text)

    def close(self) -> None:
        """Write the events that wait."""
        self._writer.close()

    def _emit(self, kind: EventType, reason: str, text: str) -> None:
        self._writer.emit(self._node, kind, reason, text, "Publish")


def _messages(
    events: Iterable[Changed[Any] | Unreadable | Disconnected], kind: str
) -> Iterator[WatchMessage]:
    """Say of each event of a watch what it means for publishing."""
    for event in events:
        match event:
            case Changed(changes=changes, is_first=is_first):
                yield Heard(is_first or bool(changes))
            case Unreadable():
                _log.warning("%s %s", kind, event)
                yield Heard(is_new=False)
            case Disconnected(error=error, retry_in_s=retry_in_s):
                if isinstance(error, NotFound | Forbidden | Invalid):
                    raise _translated(error) from error  # waiting does not cure these
                yield Interrupted(str(error), retry_in_s)


def _asked(call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except KubeApiError as error:
        raise _translated(error) from error


def _translated(error: KubeApiError) -> errors.ServerError:
    """Return what a failure of the API server means for publishing."""
    match error:
        case NotFound():
            return errors.NotThere(str(error))
        case Conflict() | AlreadyExists():
            return errors.Outdated(str(error))
        case Forbidden():
            return errors.NotAllowed(str(error))
        case Invalid(causes=causes):
            return errors.Refused(str(error), [one.field for one in causes])
        case Unavailable(retry_after_s=retry_after_s):
            return errors.Unreachable(str(error), retry_after_s)
        case _:
            return errors.ServerError(str(error))


def metrics_review(kubeconfig: Path | None, context: str | None) -> Review:
    """Return what asks the API server whether a caller may read the metrics. Raises: ServerError.

    It has a client of its own, with a small pace: strangers who guess tokens slow nothing else.
    """
    api = _asked(
        lambda: KubeApi.connect(kubeconfig, context, user_agent="tangram-agent/metrics", limits=_REVIEWS)
    )

    return reviewing(partial(is_allowed, api), KubeApiError)
