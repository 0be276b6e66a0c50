"""The API server as the controller needs it: adapters from ``kube_api`` to the ports of ``controller.run``.

No other module of the controller names ``kube_api``. Every failure of a write is raised as a ``WriteFailed``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, Final, Self, TypeVar

from controller import reading
from controller.model.claims import ClaimSeen
from controller.model.pods import PodRef
from controller.plan.documents import REASON
from controller.pools_api import MULTI_NODE_POOLS
from controller.run.ports import Document, Why, WriteFailed
from daemon.authorization import Review, reviewing
from daemon.oldest_server import refusal
from kube_api import (
    DEVICE_CLASSES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    AlreadyExists,
    Conflict,
    Disconnected,
    EventWriter,
    Forbidden,
    Invalid,
    KubeApi,
    KubeApiError,
    Limits,
    NotFound,
    Object,
    PatchKind,
    Regarding,
    Resource,
    Store,
    Synced,
    Unreadable,
    Withheld,
    is_allowed,
)
from scheduler_core.codec import composite
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.ownership import CONTROLLER, OWNER

POD_GROUPS: Final = (
    Resource.of("scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups", namespaced=True),
    Resource.of("scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups", namespaced=True),
    Resource.of("scheduling.k8s.io/v1beta1", "PodGroup", "podgroups", namespaced=True),
)
COMPOSITE_SLICES: Final = Resource.of(composite.API_VERSION, composite.KIND, "compositeresourceslices")
RESOURCE_CLASSES: Final = Resource.of("tangram.dev/v1alpha1", "ResourceClass", "resourceclasses")
# No attempt of a write may take longer than the election grants: controller.election.values.Times.
_LIMITS: Final = Limits(calls_per_s=400, burst=800, call_timeout_s=60.0, read_timeout_s=4.5, attempts=3)
_REVIEWS: Final = Limits(calls_per_s=5.0, burst=10, call_timeout_s=5.0, attempts=1)
_EVENTS_PER_S: Final = 10.0
_EVENTS: Final = 200
_PAGE: Final = 100  # a page of slices is decoded at once: 100 of them are 5 MB
_Answer = TypeVar("_Answer")
_Kept = TypeVar("_Kept")


class Unreachable(Exception):
    """No API server is configured."""


class Followed:
    """Objects of one kind, kept by a watch.

    Shape: ``kind`` as messages name it; a cluster need not have a kind that ``is_optional``; the store gets
           the text of objects ``as_text``.
    """

    def __init__(
        self,
        api: KubeApi,
        resource: Resource,
        store: Store[Any],
        fields: str = "",
        *,
        labels: str = "",
        is_optional: bool = False,
        as_text: bool = False,
    ) -> None:
        self._api = api
        self._resource = resource
        self._fields = fields
        self._labels = labels
        self._is_optional = is_optional
        self._as_text = as_text
        self._is_missing = False
        self.store = store

    @property
    def kind(self) -> str:
        """Return the kind."""
        return self._resource.kind

    @property
    def is_synced(self) -> bool:
        """Whether all objects were listed once, or the server does not have the kind."""
        return self.store.is_synced or self._is_missing

    def subscribe(self, hear: Callable[[str, str, Any, Any], None]) -> None:
        """Call ``hear`` with namespace, name, old and new value of every change from now on."""
        self.store.subscribe(lambda one: hear(one.key.namespace, one.key.name, one.old, one.new))

    def follow(self, stop: Event) -> Iterator[str]:
        """Keep the store up to date until ``stop`` is set; yield what went wrong, empty for an event."""
        found = self._api.follow(
            self._resource,
            self.store,
            label_selector=self._labels,
            field_selector=self._fields,
            page=_PAGE,
            as_text=self._as_text,
            stop=stop,
        )
        for event in found:
            match event:
                case Unreadable():
                    yield f"{self.kind} {event}"
                case Disconnected(error=NotFound()) if self._is_optional:
                    self._is_missing = True
                    yield ""
                case Disconnected(error=error):
                    yield str(error)
                case _:
                    yield ""


class Cluster:
    """One API server, watched and written by one controller."""

    def __init__(self, api: KubeApi, driver: str) -> None:
        self._reading = api
        self.api = self._api = api
        self._claims: Store[ClaimSeen] = _store(reading.claim)
        self._pods = _store(reading.pod)
        self.pods = Followed(api, PODS, self._pods)
        self.nodes = Followed(api, NODES, _store(reading.node))
        self.claims = Followed(api, RESOURCE_CLAIMS, self._claims)
        slices = Store[Any](lambda one: reading.slice_text(one.text))
        self.slices = Followed(api, RESOURCE_SLICES, slices, f"spec.driver={driver}", as_text=True)
        all_slices = Store[Any](lambda one: reading.slice_text(one.text))
        self.all_slices = Followed(api, RESOURCE_SLICES, all_slices, as_text=True)
        # Agents label the ones that count (``read_composite_slice``), so that the others are not even sent.
        self.composite_slices, self.all_composite_slices = (
            Followed(
                api,
                COMPOSITE_SLICES,
                _store(reading.composite_slice),
                fields,
                labels=f"{OWNER}={CONTROLLER}",
                is_optional=True,
            )
            for fields in (f"spec.driver={driver}", "")
        )
        self.classes = Followed(api, DEVICE_CLASSES, _store(reading.device_class))
        self._resource_classes = _store(_as_it_is)
        self.resource_classes = Followed(api, RESOURCE_CLASSES, self._resource_classes, is_optional=True)
        self.pod_groups = tuple(
            Followed(api, one, _store(reading.pod_group), is_optional=True) for one in POD_GROUPS
        )
        self.templates = Followed(api, RESOURCE_CLAIM_TEMPLATES, _store(_as_it_is))

    @classmethod
    def connect(cls, kubeconfig: Path | None, context: str | None, driver: str) -> Self:
        """Find the API server; nothing is sent yet. Raises: Unreachable."""
        try:
            api = KubeApi.connect(kubeconfig, context, user_agent="tangram-controller", limits=_LIMITS)
        except KubeApiError as error:
            raise Unreachable(str(error)) from error
        return cls(api, driver)

    def refusal(self) -> str:
        """Return why this server cannot be used, empty where it can. Raises: KubeApiError."""
        return "" if self._reading.serves(RESOURCE_SLICES) else refusal(self._reading.server_version())

    def guard(self, may_write: Callable[[], bool]) -> None:
        """Ask before each piece of a write, from now on, whether this process may write."""
        self.api = self._api = self._reading.guarded(may_write)

    @property
    def followed(self) -> tuple[Followed, ...]:
        """Return everything that is watched; slices before claims, so that holders find their devices."""
        return (
            self.classes,
            self.resource_classes,
            self.nodes,
            self.slices,
            self.composite_slices,
            self.templates,
            self.claims,
            *self.pod_groups,
            self.pods,
        )

    @property
    def page_kinds(self) -> tuple[Followed, ...]:
        """Return what the page shows, in the same order: slices of all drivers.

        Nobody else may follow these at the same time.
        """
        return (
            self.classes,
            self.nodes,
            self.all_slices,
            self.all_composite_slices,
            self.claims,
            self.pods,
        )

    def refresh(self) -> None:
        """Read all claims as they are at the server now. Raises: WriteFailed."""
        found = _asked(lambda: self._api.list(RESOURCE_CLAIMS))
        items = tuple(map(self._claims.entry, found.items))
        self._claims.take_list(Synced(items, found.resource_version, found.unreadable))

    def has_pools(self) -> bool:
        """Whether the server has the kind of pools that no node owns."""
        try:
            self._api.list(MULTI_NODE_POOLS, page=1)
        except KubeApiError:
            return False
        return True

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def events(self, instance: str) -> PodEvents:
        """Return a writer of events about pods; its caller closes it."""
        return PodEvents(self._api, instance)

    def create_claim(self, document: Document) -> Document:
        """Make a claim and return it."""
        namespace = document["metadata"]["namespace"]
        return self._wrote(_written(lambda: self._api.create(RESOURCE_CLAIMS, document, namespace)))

    def replace_claim(self, document: Document) -> Document:
        """Replace a claim that still has the version of the document."""
        return self._wrote(_written(lambda: self._api.replace(RESOURCE_CLAIMS, document)))

    def replace_claim_status(self, document: Document) -> Document:
        """Replace the status of a claim that still has the version of the document."""
        return self._wrote(
            _written(lambda: self._api.replace(RESOURCE_CLAIMS, document, subresource="status"))
        )

    def delete_claim(self, document: Document) -> None:
        """Delete a claim that still has the version of the document."""
        metadata = document["metadata"]
        left = _written(
            lambda: self._api.delete(
                RESOURCE_CLAIMS,
                metadata["name"],
                metadata["namespace"],
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
        )
        if left is None:
            self._claims.deleted(metadata["uid"])
        else:
            self._claims.wrote(left)

    def read_claim(self, ref: ClaimRef) -> Document | None:
        """Return a claim as it is at the server now, None where there is none."""
        try:
            return self._wrote(_asked(lambda: self._api.get(RESOURCE_CLAIMS, ref.name, ref.namespace)))
        except _Gone:
            known = self._claims.get(ref.name, ref.namespace)
            if known is not None:
                self._claims.deleted(known.uid)
            return None

    def is_bound(self, pod: PodRef, uid: str) -> bool:
        """Whether a pod has a node at the server now."""
        try:
            found = _asked(lambda: self._api.get(PODS, pod.name, pod.namespace))
        except _Gone:
            return False
        return found.metadata.uid == uid and bool(found.document["spec"].get("nodeName"))

    def write_class_status(self, name: str, document: Document) -> None:
        """Merge a document into the status of a ResourceClass."""
        stored = _written(lambda: self._api.patch(RESOURCE_CLASSES, name, document, subresource="status"))
        self._resource_classes.wrote(stored)

    def patch_pod(self, pod: PodRef, patch: list[Document]) -> None:
        """Change a pod by a JSON patch."""
        try:
            found = _written(
                lambda: self._api.patch(PODS, pod.name, patch, pod.namespace, kind=PatchKind.JSON)
            )
        except WriteFailed as error:
            if error.why is Why.REFUSED:  # a test of the patch failed: the pod has changed
                raise WriteFailed(Why.OUTDATED, str(error)) from error
            raise
        self._pods.wrote(found)

    def patch_pod_status(self, pod: PodRef, patch: Document) -> None:
        """Change a pod's status by a strategic merge patch."""
        found = _written(
            lambda: self._api.patch(
                PODS, pod.name, patch, pod.namespace, kind=PatchKind.STRATEGIC, subresource="status"
            )
        )
        self._pods.wrote(found)

    def _wrote(self, stored: Object) -> Document:
        self._claims.wrote(stored)
        return stored.document


def page_review(kubeconfig: Path | None, context: str | None) -> Review:
    """Return what asks the API server whether a caller may read the page. Raises: Unreachable.

    It has a client of its own, with a small pace: strangers who guess tokens slow no decision.
    """
    try:
        api = KubeApi.connect(kubeconfig, context, user_agent="tangram-controller/page", limits=_REVIEWS)
    except KubeApiError as error:
        raise Unreachable(str(error)) from error

    return reviewing(partial(is_allowed, api), KubeApiError)


class PodEvents:
    """Writes events about pods."""

    def __init__(self, api: KubeApi, instance: str) -> None:
        self._writer = EventWriter(
            api, "tangram.dev/controller", time.time, instance, per_s=_EVENTS_PER_S, burst=_EVENTS
        )

    def warn(self, pod: PodRef, uid: str, text: str) -> None:
        """Report that a pod waits."""
        about = Regarding(api_version="v1", kind="Pod", name=pod.name, uid=uid, namespace=pod.namespace)
        self._writer.emit(about, "Warning", REASON, text, "Allocate")

    def close(self) -> None:
        """Write the events that wait."""
        self._writer.close()


class _Gone(Exception):
    """There is no such object."""


def _store(read: Callable[[Document], _Kept]) -> Store[_Kept]:
    return Store(lambda one: read(one.document))


def _as_it_is(document: Document) -> Document:
    return document


def _written(call: Callable[[], _Answer]) -> _Answer:
    """Make a write. Raises: WriteFailed."""
    try:
        return _asked(call)
    except _Gone as error:
        raise WriteFailed(Why.OUTDATED, str(error)) from error


def _asked(call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except NotFound as error:
        raise _Gone(str(error)) from error
    except Withheld as error:
        raise WriteFailed(Why.NOT_LEADING, str(error)) from error
    except (Conflict, AlreadyExists) as error:
        raise WriteFailed(Why.OUTDATED, str(error)) from error
    except (Invalid, Forbidden) as error:
        raise WriteFailed(Why.REFUSED, str(error)) from error
    except KubeApiError as error:
        raise WriteFailed(Why.UNKNOWN, str(error)) from error
