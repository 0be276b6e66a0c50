"""The API server as the ``tangram`` command needs it: adapters from ``kube_api`` to the command's ports.

No other module of the command names ``kube_api``. Every failure is raised as ``BadInput``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any, Final

from agent.api import COMPOSITE_SLICES
from kube_api import (
    DEVICE_CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Disconnected,
    KubeApi,
    KubeApiError,
    Limits,
    NotFound,
    Object,
    Removed,
    Resource,
    Synced,
    Unavailable,
    Unreadable,
    Upserted,
    usual_namespace,
)
from scheduler_core.frontends.multi_node import pool_object
from tangram.clusters import Reading, V
from tangram.doctor.finding import ObjectRef
from tangram.errors import BadInput, Unreachable
from tangram.live_cluster import ClusterEvent, Listed, Told, Unheard
from tangram.program.streams import complain

_DAEMON_SETS: Final = Resource.of("apps/v1", "DaemonSet", "daemonsets", namespaced=True)
_RESOURCE_CLASSES: Final = Resource.of("tangram.dev/v1alpha1", "ResourceClass", "resourceclasses")
_SHOWN: Final = (NODES, RESOURCE_SLICES, RESOURCE_CLAIMS, DEVICE_CLASSES, COMPOSITE_SLICES)
_ACCOUNTS: Final = Resource.of("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
_BINDINGS: Final = Resource.of("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings")
_MEASURED: Final = (NAMESPACES, PODS, RESOURCE_CLAIM_TEMPLATES, _DAEMON_SETS, _ACCOUNTS, _BINDINGS)
_ADMISSION: Final = "admissionregistration.k8s.io/v1"
_POLICIES: Final = Resource.of(_ADMISSION, "ValidatingAdmissionPolicy", "validatingadmissionpolicies")
_POLICY_BINDINGS: Final = Resource.of(
    _ADMISSION, "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"
)
_POOLS: Final = Resource.of(pool_object.API_VERSION, pool_object.KIND, "multinodepools")
_DIAGNOSED: Final = (EVENTS, _POLICIES, _POLICY_BINDINGS, _POOLS)
_RESOURCES: Final = {one.kind: one for one in (*_SHOWN, *_MEASURED, *_DIAGNOSED, _RESOURCE_CLASSES)}
_POD_GROUPS: Final = tuple(
    Resource.of(version, "PodGroup", "podgroups", namespaced=True)
    for version in ("scheduling.x-k8s.io/v1alpha1", "scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1")
)
_OPTIONAL: Final = (_RESOURCE_CLASSES, _POOLS, COMPOSITE_SLICES, *_POD_GROUPS)  # a cluster need not know them
_PAGE: Final = 500
_SMALL_PAGE: Final = 100  # of slices, which are large: 100 of them are 5 MB
_UNHURRIED: Final = Limits(calls_per_s=2000, burst=2000)  # so that a benchmark never waits for its own client


def connect(kubeconfig: Path | None, context: str | None) -> ConnectedCluster:
    """Return the cluster of a kubeconfig; nothing is sent yet. Raises: BadInput."""
    return ConnectedCluster(_api(kubeconfig, context, Limits()), lambda: usual_namespace(kubeconfig, context))


def open_live(kubeconfig: Path | None, context: str | None) -> ChangedCluster:
    """Return the cluster of a kubeconfig, for measuring it; nothing is sent yet. Raises: BadInput."""
    return ChangedCluster(_api(kubeconfig, context, _UNHURRIED))


def open_mendable(kubeconfig: Path | None, context: str | None) -> MendedCluster:
    """Return the cluster of a kubeconfig, for single changes; nothing is sent yet. Raises: BadInput."""
    return MendedCluster(_api(kubeconfig, context, Limits()))


def _api(kubeconfig: Path | None, context: str | None, limits: Limits) -> KubeApi:
    with _refusals():
        return KubeApi.connect(kubeconfig, context, user_agent="tangram", limits=limits)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn every failure of the API server into BadInput, one of a connection into Unreachable."""
    try:
        yield
    except Unavailable as error:
        raise Unreachable(str(error)) from error
    except KubeApiError as error:
        raise BadInput(str(error)) from error


class ReadCluster:
    """A cluster whose objects are only read."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        """Return the objects of a kind that a field selector matches; none of a kind that need not exist."""
        return self.read(kind, _AS_IT_IS, fields)

    def read(self, kind: str, reading: Reading[V], fields: str = "") -> tuple[V, ...]:
        """Return what is read of each object of a kind, as ``list`` does. One page is in memory at a time."""
        if kind != "PodGroup":
            return tuple(found for _, found in self._read(_RESOURCES[kind], reading, fields))
        found: dict[str, V] = {}  # one object is served in several versions
        for resource in _POD_GROUPS:
            found |= dict(self._read(resource, reading, fields))
        return tuple(found.values())

    def _read(self, resource: Resource, reading: Reading[V], fields: str) -> Sequence[tuple[str, V]]:
        """Return UID and content of objects, nothing of a kind that need not exist. Raises: BadInput."""
        keep, as_text = _keeping(reading)
        with _refusals():
            try:
                found = self._api.list_kept(resource, keep, fields, _page(resource), as_text=as_text)
            except NotFound:
                if resource in _OPTIONAL:
                    return ()
                raise
        for unreadable in found.unreadable:
            complain(f"{resource.kind} {unreadable}; it is left out")
        return found.items

    def get(self, kind: str, name: str, namespace: str) -> Mapping[str, Any]:
        """Return one object."""
        with _refusals():
            return self._api.get(_RESOURCES[kind], name, namespace).document

    def text(self, path: str) -> str:
        """Return the server's answer to a GET of a path."""
        with _refusals():
            return self._api.raw_get(path)


class ConnectedCluster(ReadCluster):
    """A cluster whose objects are only read, and the namespace that a kubeconfig says."""

    def __init__(self, api: KubeApi, namespace: Callable[[], str]) -> None:
        super().__init__(api)
        self._namespace = namespace

    def usual_namespace(self) -> str:
        """Return the namespace of the context, or of the pod that this program runs in."""
        with _refusals():
            return self._namespace()


class MendedCluster(ReadCluster):
    """A cluster in which single objects are changed that are still as they were read."""

    def delete_unchanged(self, found: ObjectRef) -> None:
        """Delete an object that still has this UID and version."""
        with _refusals():
            self._api.delete(
                _RESOURCES[found.kind], found.name, found.namespace or None, found.uid, found.version
            )

    def set_finalizers(self, found: ObjectRef, finalizers: tuple[str, ...]) -> None:
        """Replace the finalizers of an object that still has this version."""
        body = {"metadata": {"finalizers": list(finalizers), "resourceVersion": found.version}}
        with _refusals():
            self._api.patch(_RESOURCES[found.kind], found.name, body, found.namespace or None)


class ChangedCluster(ReadCluster):
    """A cluster whose objects are created, watched and deleted."""

    def create(self, kind: str, document: Mapping[str, Any], namespace: str = "") -> None:
        """Create an object."""
        with _refusals():
            self._api.create(_RESOURCES[kind], document, namespace or None)

    def patch(self, kind: str, name: str, body: Mapping[str, Any], namespace: str = "") -> None:
        """Merge a body into an object."""
        with _refusals():
            self._api.patch(_RESOURCES[kind], name, body, namespace or None)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object; it is no failure if there is none."""
        with _refusals(), suppress(NotFound):
            self._api.delete(_RESOURCES[kind], name, namespace or None)

    def changes(
        self, kind: str, stop: Event, fields: str = "", namespace: str = ""
    ) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
        """Yield each object's name and document now and after each change, None once it is deleted."""
        for change in self._api.watch(_RESOURCES[kind], namespace or None, "", fields, stop=stop):
            match change:
                case Synced(items):
                    yield from ((one.metadata.name, one.document) for one in items)
                case Upserted(found) | Removed(found):
                    yield found.metadata.name, found.document if isinstance(change, Upserted) else None
                case Disconnected() | Unreadable():
                    continue  # the watch connects again by itself; the caller has a time limit

    def events(self, kind: str, reading: Reading[V], stop: Event) -> Iterator[ClusterEvent[V]]:
        """Yield the objects of a kind, then each change; a broken watch is told and connects again."""
        keep, as_text = _keeping(reading)
        watched = self._api.watch_kept(
            _RESOURCES[kind], keep, _page(_RESOURCES[kind]), as_text=as_text, stop=stop
        )
        with _refusals():
            for change in watched:
                match change:
                    case Synced(items, unreadable=unreadable):
                        yield Listed(tuple(found for _, found in items), tuple(map(str, unreadable)))
                    case Upserted((_, found)):
                        yield Told(found)
                    case Removed((_, found)):
                        yield Told(found, is_gone=True)
                    case Disconnected(error=error):
                        yield Unheard(f"the watch of {kind} has ended and begins again: {error}")
                    case Unreadable():
                        yield Unheard(f"{kind} {change}; it is left out")


def _page(resource: Resource) -> int:
    return _SMALL_PAGE if resource is RESOURCE_SLICES else _PAGE


def _as_it_is(document: Mapping[str, Any]) -> Mapping[str, Any]:
    return document


_AS_IT_IS: Final = Reading(_as_it_is)


def _keeping(reading: Reading[V]) -> tuple[Callable[[Object], tuple[str, V]], bool]:
    """Return what keeps the UID and the content of an object, and whether it reads texts."""
    read_text, read_document = reading.text, reading.document
    if read_text is not None:
        return lambda one: (one.metadata.uid, read_text(one.text)), True
    return lambda one: (one.metadata.uid, read_document(one.document)), False
