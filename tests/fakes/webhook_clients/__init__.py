"""A webhook over real TLS sockets, and clients of it."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from controller.certificates.life import Life
from controller.certificates.making import Signer, key_pem_of, new_authority, new_leaf, pem_of
from controller.certificates.stored import Stored, data_of
from controller.webhook.connections import Bounds
from controller.webhook.handler import Review
from controller.webhook.server import WebhookServer, serving
from daemon.tls import tls_settings

HOST = "localhost"
LIFE = Life()
Document = dict[str, Any]


def authority() -> Signer:
    return new_authority(datetime.now(UTC), LIFE)


def old_certificates(life: Life) -> tuple[Signer, dict[str, bytes]]:
    """Return old certificates as a Secret has them: the authority is in the last third of its time."""
    now = datetime.now(UTC)
    signer = new_authority(now - timedelta(days=300), life)
    leaf = new_leaf(signer, [HOST], now - timedelta(days=40), life)
    return signer, data_of(Stored(authorities=(signer.certificate,), signer=signer, leaf=leaf))


def pair(signer: Signer) -> tuple[bytes, bytes]:
    """Return a new certificate for this machine, and its key."""
    leaf = new_leaf(signer, [HOST], datetime.now(UTC), LIFE)
    return pem_of(leaf.certificate), key_pem_of(leaf.key)


def server_settings(signer: Signer) -> ssl.SSLContext:
    return tls_settings(*pair(signer))


def trusting(*authorities: Signer | bytes) -> ssl.SSLContext:
    """Return the settings of a client that trusts these and nobody else."""
    texts = [one if isinstance(one, bytes) else pem_of(one.certificate) for one in authorities]
    return ssl.create_default_context(cadata="".join(text.decode() for text in texts))


def a_review(uid: str = "u1", padding: int = 0) -> Document:
    request = {"uid": uid, "object": {"metadata": {"annotations": {"padding": "x" * padding}}}}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def allowed(review: Document) -> Document:
    """Answer a review with yes."""
    kind = {key: review[key] for key in ("apiVersion", "kind")}
    return {**kind, "response": {"uid": review["request"]["uid"], "allowed": True}}


@contextmanager
def a_webhook(
    contexts: Callable[[], ssl.SSLContext | None],
    review: Review = allowed,
    bounds: Bounds | None = None,
    is_ready: Callable[[], bool] = lambda: True,
    observe: Callable[[int, float], None] = lambda _status, _seconds: None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[int, WebhookServer]]:
    """Serve while the block runs; hand out the port and the server."""
    server = WebhookServer(
        ("127.0.0.1", 0),
        contexts=contexts,
        review=review,
        is_ready=is_ready,
        observe=observe,
        bounds=bounds,
        clock=clock,
    )
    with serving(server) as port:
        yield port, server


class LocalConnection(http.client.HTTPSConnection):
    """A connection to this machine, verified as HOST, which a machine without /etc/hosts does not resolve."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        super().__init__(HOST, port, timeout=30, context=trust)
        self._trust = trust

    def connect(self) -> None:
        plain = socket.create_connection(("127.0.0.1", self.port), self.timeout)
        self.sock = self._trust.wrap_socket(plain, server_hostname=HOST)


class Client:
    """One connection, which stays open between reviews."""

    def __init__(self, port: int, trust: ssl.SSLContext) -> None:
        self._connection = LocalConnection(port, trust)

    def ask(self, document: object, path: str = "/mutate?timeout=10s") -> tuple[int, Any]:
        """Post a document, or bytes as they are. Return status and answer, a text where it is no JSON."""
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        return self.send("POST", path, body)

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        self._connection.request(method, path, body, dict(headers or {}))
        answer = self._connection.getresponse()
        text = answer.read()
        is_json = answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(text) if is_json else text.decode().strip()

    @property
    def socket(self) -> socket.socket | None:
        """The open connection, None where the server closed it after its answer."""
        return self._connection.sock

    def close(self) -> None:
        self._connection.close()


class Asking:
    """Clients that ask one after another until they are stopped; ``failures`` has what went wrong."""

    def __init__(self, count: int, ask: Callable[[], None]) -> None:
        self.answered = 0
        self.failures: list[BaseException] = []
        self._ask, self._stop, self._lock = ask, threading.Event(), threading.Condition()
        self._threads = [threading.Thread(target=self._run) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def wait_for(self, more: int) -> None:
        """Wait for so many answers from now on."""
        with self._lock:
            until = self.answered + more
            assert self._lock.wait_for(lambda: self.answered >= until or self.failures, 60)

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._ask()
            except BaseException as error:  # noqa: BLE001  # the test looks at it
                with self._lock:
                    self.failures.append(error)
                    self._lock.notify_all()
                return
            with self._lock:
                self.answered += 1
                self._lock.notify_all()
