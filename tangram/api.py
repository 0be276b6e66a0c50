"""The API server as the ``tangram`` command needs it: adapters from ``kube_api`` to the command's ports.

No other module of the command names ``kube_api``. Every failure is raised as ``BadInput``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any, Final

from agent.api import COMPOSITE_SLICES
from kube_api import (
    DEVICE_CLASSES,
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
    Removed,
    Resource,
    Synced,
    Unreadable,
    Upserted,
)
from tangram.errors import BadInput
from tangram.program.streams import complain

_DAEMON_SETS: Final = Resource.of("apps/v1", "DaemonSet", "daemonsets", namespaced=True)
_SHOWN: Final = (NODES, RESOURCE_SLICES, RESOURCE_CLAIMS, DEVICE_CLASSES, COMPOSITE_SLICES)
_MEASURED: Final = (NAMESPACES, PODS, RESOURCE_CLAIM_TEMPLATES, _DAEMON_SETS)
_RESOURCES: Final = {one.kind: one for one in (*_SHOWN, *_MEASURED)}
_UNHURRIED: Final = Limits(calls_per_s=2000, burst=2000)  # so that a benchmark never waits for its own client


def connect(kubeconfig: Path | None, context: str | None) -> ReadCluster:
    """Return the cluster of a kubeconfig; nothing is sent yet. Raises: BadInput."""
    return ReadCluster(_api(kubeconfig, context, Limits()))


def open_live(kubeconfig: Path | None, context: str | None) -> ChangedCluster:
    """Return the cluster of a kubeconfig, for measuring it; nothing is sent yet. Raises: BadInput."""
    return ChangedCluster(_api(kubeconfig, context, _UNHURRIED))


def _api(kubeconfig: Path | None, context: str | None, limits: Limits) -> KubeApi:
    with _refusals():
        return KubeApi.connect(kubeconfig, context, user_agent="tangram", limits=limits)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn every failure of the API server into BadInput."""
    try:
        yield
    except KubeApiError as error:
        raise BadInput(str(error)) from error


class ReadCluster:
    """A cluster whose objects are only read."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        """Return the objects of a kind that a field selector matches."""
        with _refusals():
            found = self._api.list(_RESOURCES[kind], field_selector=fields)
            for unreadable in found.unreadable:
                complain(f"{kind} {unreadable}; it is left out")
            return tuple(one.document for one in found.items)

    def get(self, kind: str, name: str, namespace: str) -> Mapping[str, Any]:
        """Return one object."""
        with _refusals():
            return self._api.get(_RESOURCES[kind], name, namespace).document


class ChangedCluster(ReadCluster):
    """A cluster whose objects are created, watched and deleted."""

    def create(self, kind: str, document: Mapping[str, Any], namespace: str = "") -> None:
        """Create an object."""
        with _refusals():
            self._api.create(_RESOURCES[kind], document, namespace or None)

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object; it is no failure if there is none."""
        with _refusals(), suppress(NotFound):
            self._api.delete(_RESOURCES[kind], name, namespace or None)

    def text(self, path: str) -> str:
        """Return the server's answer to a GET of a path."""
        with _refusals():
            return self._api.raw_get(path)

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
