"""The calls that a program can make to an API server.

Takes kinds, names and documents; returns objects and events; every failure is one of our errors. All calls
are bounded in time and size, paced, and repeated only where that cannot do harm. Safe between threads.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any, Final, Self, TypeVar

from kube_api.caller import Caller
from kube_api.calls import Call, Selection, on_object, once
from kube_api.decoding import Reader, read_object, read_text
from kube_api.documents import ask_deletion, ask_document, ask_object, ask_stored
from kube_api.errors import Conflict, NotFound
from kube_api.listing import list_all
from kube_api.objects import Listing, Object, Unreadable, on_top_of
from kube_api.pacing import Clock, Limits, Random, Sleep, TokenBucket
from kube_api.resources import Resource
from kube_api.store import Changed, Store
from kube_api.watch import Disconnected, Watch, WatchEvent
from kube_api.writes import PatchKind, creation, deletion, patching, replacement

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PAGE: Final = 500
V = TypeVar("V")


class KubeApi:
    """One API server and one user of it."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @classmethod
    def connect(
        cls,
        kubeconfig: Path | None = None,
        context: str | None = None,
        *,
        user_agent: str,
        clock: Clock = time.monotonic,
        sleep: Sleep = time.sleep,
        random: Random = random.random,
        limits: Limits | None = None,
        environ: Mapping[str, str] = os.environ,
        service_account: Path = SERVICE_ACCOUNT,
    ) -> Self:
        """Find the configuration of an API server; nothing is sent yet.

        Units:  ``clock`` gives seconds and never goes back; ``random`` a number from 0 to below 1.
        Raises: NotConfigured, with all places that were searched.
        """
        # Loading them takes time and memory, with a kubeconfig 0.6 s and 25 MiB: only who connects does.
        from kube_api.configuration import find  # noqa: PLC0415
        from kube_api.transport import Transport  # noqa: PLC0415

        limits = limits or Limits()
        origin = find(kubeconfig, context, environ, service_account)
        bucket = TokenBucket(limits.calls_per_s, limits.burst, clock)
        return cls(Caller(Transport(origin, user_agent, limits, clock), limits, bucket, clock, sleep, random))

    def guarded(self, may_write: Callable[[], bool]) -> Self:
        """Return the same API server with a guard before every request that changes something.

        Shape:  the guard is asked at each attempt, when there is a connection, before the headers and again
                before the body, so that a program that was stopped between question and writing is caught.
                Where it says no, the call raises Withheld. Connections and pace are shared.
        """
        return type(self)(replace(self._caller, may_write=may_write))

    def get(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Object:
        """Read one object.

        Shape:  ``meanwhile`` is called once, while the answer is awaited.
        Raises: NotFound, ApiError, and what ``meanwhile`` raises.
        """
        work = None if meanwhile is None else once(meanwhile)
        call = on_object("get", "GET", resource, name, namespace, meanwhile=work)
        return ask_stored(self._caller, call)

    def list(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page: int = _PAGE,
    ) -> Listing[Object]:
        """Read all objects of a kind, ``page`` at a time. Raises: ApiError."""
        selection = _selection(resource, namespace, label_selector, field_selector)
        return list_all(self._caller, selection, page, _whole)

    def list_kept(
        self,
        resource: Resource,
        keep: Callable[[Object], V],
        field_selector: str = "",
        page: int = _PAGE,
        *,
        as_text: bool = False,
    ) -> Listing[V]:
        """Read all objects of a kind, a page at a time, and keep only what ``keep`` returns for each object.

        Shape:  ``as_text``: ``keep`` gets objects with their text in the place of a document.
        Raises: ApiError.
        """
        selection = _selection(resource, None, "", field_selector)
        return list_all(self._caller, selection, page, keep, read=_reader(as_text=as_text))

    def watch(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page: int = _PAGE,
        *,
        stop: Event,
    ) -> Iterator[WatchEvent[Object]]:
        """Yield all objects of a kind and then what happens to them, until ``stop`` is set.

        Shape:  the first event is Synced or Disconnected; Synced comes again whenever history was lost.
        Raises: Invalid for selectors that cannot be right; every other failure is a Disconnected.
        """
        selection = _selection(resource, namespace, label_selector, field_selector)
        return Watch(self._caller, selection, page, _whole, stop).events()

    def watch_kept(
        self,
        resource: Resource,
        keep: Callable[[Object], V],
        page: int = _PAGE,
        *,
        as_text: bool = False,
        stop: Event,
    ) -> Iterator[WatchEvent[V]]:
        """Yield what ``watch`` does, of each object what ``keep`` gives, as ``list_kept`` does."""
        selection = _selection(resource, None, "", "")
        return Watch(self._caller, selection, page, keep, stop, read=_reader(as_text=as_text)).events()

    def follow(
        self,
        resource: Resource,
        store: Store[V],
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
        page: int = _PAGE,
        as_text: bool = False,
        stop: Event,
    ) -> Iterator[Changed[V] | Unreadable | Disconnected]:
        """Keep a store as the server has it until ``stop`` is set; yield what each event changed in it.

        Shape:  of each object only what the store keeps stays in memory, also during a list. The store is as
                old as the last event that was asked for: iterate in a thread that does nothing slow;
                ``as_text``: the store gets objects with their text in the place of a document, which is
                faster where it parses little of them.
        Raises: Invalid for selectors that cannot be right; every other failure is a Disconnected.
        """
        selection = _selection(resource, namespace, label_selector, field_selector)
        read = _reader(as_text=as_text)
        for event in Watch(self._caller, selection, page, store.entry, stop, read=read).events():
            changed = store.take(event)
            yield event if isinstance(event, Unreadable | Disconnected) else changed

    def create(
        self,
        resource: Resource,
        document: Mapping[str, Any],
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Object:
        """Store a new object and return it as stored; a dry run stores nothing.

        Shape:  with ``subresource`` the document has the subresource's own kind and the name of the object
                that it belongs to, as a pod's Binding does.
        Raises: AlreadyExists, Invalid, ApiError.
        """
        return ask_object(self._caller, creation(resource, document, namespace, subresource, dry_run))

    def replace(
        self,
        resource: Resource,
        document: Mapping[str, Any],
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Replace the object whose version the document names.

        Raises: Conflict, also where the answer to our own first attempt was lost; ApiError.
        """
        return ask_object(self._caller, replacement(resource, document, namespace, subresource))

    def patch(
        self,
        resource: Resource,
        name: str,
        body: Mapping[str, Any] | Sequence[Any],
        namespace: str | None = None,
        *,
        kind: PatchKind = PatchKind.MERGE,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str | None = None,
    ) -> Object:
        """Change parts of an object, or apply a configuration, which creates the object if it does not exist.

        Raises: NotFound, Conflict, Invalid, ApiError; ValueError for an apply without ``field_manager``.
        """
        call = patching(
            resource,
            name,
            body,
            namespace,
            kind=kind,
            field_manager=field_manager,
            force=force,
            subresource=subresource,
        )
        return ask_object(self._caller, call)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
    ) -> Object | None:
        """Delete an object, only if it still has this UID and version.

        Shape:  returns the object where it is only marked for deletion so far, because of finalizers or a
                grace period; None where it is gone.
        Raises: NotFound, Conflict, ApiError.
        """
        return ask_deletion(self._caller, deletion(resource, name, namespace, uid, resource_version))

    def update(
        self,
        resource: Resource,
        name: str,
        change: Callable[[Object], Mapping[str, Any] | None],
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        """Read an object, change it and store it; start again whenever somebody else changed it meanwhile.

        Shape:  ``change`` returns the whole new document, or None where there is nothing to do. It may be
                called with its own result, where an answer was lost.
        Raises: NotFound, Conflict after as many attempts as the limits allow, ApiError.
        """
        backoff = self._caller.backoff(self._caller.limits.longest_delay_s)
        left = self._caller.limits.attempts
        while True:
            left -= 1
            found = self.get(resource, name, namespace)
            wanted = change(found)
            if wanted is None:
                return found
            try:
                return self.replace(resource, on_top_of(found, wanted), namespace, subresource)
            except Conflict:
                if not left:
                    raise
                self._caller.sleep(backoff.next())

    def server_version(self) -> str:
        """Return the server's version, such as ``v1.37.1``. Raises: ApiError."""
        call = Call(attempted="read", method="GET", path="/version", name="/version")
        document = ask_document(self._caller, call)
        return str(document.get("gitVersion", ""))

    def serves(self, resource: Resource) -> bool:
        """Whether the server has a kind in this version of its group. Raises: ApiError."""
        path = f"/apis/{resource.api_version}" if resource.group else f"/api/{resource.version}"
        try:
            document = ask_document(self._caller, Call(attempted="read", method="GET", path=path, name=path))
        except NotFound:
            return False
        return any(one.get("name") == resource.plural for one in document.get("resources") or ())

    def raw_get(self, path: str) -> str:
        """Return the server's answer for ``path``, such as ``/readyz``, as text. Raises: ApiError."""
        call = Call(attempted="read", method="GET", path=path, name=path)
        return self._caller.send(call).decode(errors="replace")

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._caller.transport.close()


def _whole(found: Object) -> Object:
    return found


def _reader(*, as_text: bool) -> Reader:
    return read_text if as_text else read_object


def _selection(
    resource: Resource, namespace: str | None, label_selector: str, field_selector: str
) -> Selection:
    return Selection(
        resource=resource, namespace=namespace, label_selector=label_selector, field_selector=field_selector
    )
