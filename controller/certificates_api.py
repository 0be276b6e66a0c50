"""The Secret and the webhook configuration at the API server: adapters to the ports of the certificates.

Every failure is raised as a ``CertificateError``. No message has data of the Secret.
"""

from __future__ import annotations

import binascii
import logging
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from controller.certificates.ports import CertificateError, Found
from kube_api import (
    Disconnected,
    KubeApi,
    KubeApiError,
    NotFound,
    Object,
    PatchKind,
    Resource,
    Store,
    Unreadable,
)

SECRETS: Final = Resource.of("v1", "Secret", "secrets", namespaced=True)
WEBHOOKS: Final = Resource.of(
    "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"
)
_log: Final = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class ApiSecret:
    """One Secret."""

    def __init__(self, api: KubeApi, namespace: str, name: str) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name

    def read(self) -> Found | None:
        """Return the Secret, None where there is none. Raises: CertificateError."""
        found = self._get()
        return None if found is None else Found(_data(found.document), found.metadata.resource_version)

    def write(self, data: Mapping[str, bytes], found: Found | None) -> None:
        """Store data in the Secret if it is as it was found; create it where there was none.

        Raises: CertificateError.
        """
        encoded = {name: b64encode(value).decode() for name, value in data.items()}
        metadata: dict[str, Any] = {"name": self._name, "namespace": self._namespace}
        if found is None:
            document = {"metadata": metadata, "type": "Opaque", "data": encoded}
            _asked(lambda: self._api.create(SECRETS, document, self._namespace))
            return
        present = self._get()
        old = dict(present.document) if present else {}
        version = {**old.get("metadata", metadata), "resourceVersion": found.version}
        document = {**old, "metadata": version, "data": encoded}
        _asked(lambda: self._api.replace(SECRETS, document, self._namespace))

    def follow(self, hear: Callable[[Mapping[str, bytes] | None], None], stop: threading.Event) -> None:
        """Tell what the Secret holds, now and after each change, until ``stop`` is set.

        Shape: None where the Secret is gone.
        """
        store: Store[Mapping[str, bytes]] = Store(lambda found: _data(found.document))
        fields = f"metadata.name={self._name}"
        for event in self._api.follow(SECRETS, store, self._namespace, field_selector=fields, stop=stop):
            if isinstance(event, Disconnected | Unreadable):
                _log.warning("the Secret %s/%s: %s", self._namespace, self._name, _said(event))
                continue
            for change in event.changes:
                hear(change.new)

    def _get(self) -> Object | None:
        try:
            return self._api.get(SECRETS, self._name, self._namespace)
        except NotFound:
            return None
        except KubeApiError as error:
            raise CertificateError(str(error)) from error


class ApiTrust:
    """The entries of one MutatingWebhookConfiguration. Where there is none, nobody calls the webhook."""

    def __init__(self, api: KubeApi, name: str) -> None:
        self._api = api
        self._name = name

    def bundles(self) -> tuple[bytes, ...]:
        """Return the certificates that each entry trusts. Raises: CertificateError."""
        return tuple(_decoded(_client(one).get("caBundle")) for one in self._entries())

    def trust(self, bundle: bytes) -> None:
        """Let every entry trust these authorities. Raises: CertificateError."""
        encoded = b64encode(bundle).decode()
        entries = [(number, one["name"]) for number, one in enumerate(self._entries())]
        # Each test makes sure that the entry is still the one that was read.
        operations = [
            operation
            for number, name in entries
            for operation in (
                {"op": "test", "path": f"/webhooks/{number}/name", "value": name},
                {"op": "add", "path": f"/webhooks/{number}/clientConfig/caBundle", "value": encoded},
            )
        ]
        if operations:
            _asked(lambda: self._api.patch(WEBHOOKS, self._name, operations, kind=PatchKind.JSON))

    def follow(self, hear: Callable[[], None], stop: threading.Event) -> None:
        """Tell that the configuration has changed, until ``stop`` is set."""
        store: Store[Mapping[str, Any]] = Store(lambda found: found.document)
        fields = f"metadata.name={self._name}"
        for event in self._api.follow(WEBHOOKS, store, field_selector=fields, stop=stop):
            if isinstance(event, Disconnected | Unreadable):
                _log.warning("the MutatingWebhookConfiguration %s: %s", self._name, _said(event))
            elif event.changes:
                hear()

    def _entries(self) -> list[Mapping[str, Any]]:
        try:
            return list(self._api.get(WEBHOOKS, self._name).document.get("webhooks") or ())
        except NotFound:
            return []
        except KubeApiError as error:
            raise CertificateError(str(error)) from error


def _client(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return entry.get("clientConfig") or {}


def _data(document: Mapping[str, Any]) -> dict[str, bytes]:
    return {name: _decoded(value) for name, value in (document.get("data") or {}).items()}


def _decoded(value: object) -> bytes:
    """Return the bytes of a field; none where it is empty or damaged."""
    try:
        return b64decode(value) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return b""


def _said(event: Disconnected | Unreadable) -> str:
    return str(event.error) if isinstance(event, Disconnected) else event.problem


def _asked(call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except KubeApiError as error:
        raise CertificateError(str(error)) from error
