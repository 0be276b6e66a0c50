"""The webhook answers reviews over TLS, refuses what is none with a sentence, and loses none at its end."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Any

import pytest
from webhook_clients import (
    HOST,
    Asking,
    Client,
    Document,
    a_review,
    a_webhook,
    allowed,
    authority,
    server_settings,
    trusting,
)

from controller.certificates.making import Signer
from controller.webhook.connections import Bounds

SIGNER = authority()
SETTINGS = server_settings(SIGNER)
TRUST = trusting(SIGNER)
BOUNDS = Bounds()


@pytest.fixture
def connect() -> Iterator[Callable[[int], Client]]:
    made: list[Client] = []

    def make(port: int) -> Client:
        made.append(Client(port, TRUST))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def client(connect: Callable[[int], Client]) -> Iterator[Client]:
    with a_webhook(lambda: SETTINGS) as (port, _):
        yield connect(port)


def test_reviews_are_answered_one_after_another_on_one_connection(client: Client) -> None:
    first = client.ask(a_review("u1"))
    used = client.socket
    second = client.ask(a_review("u2", padding=6000))

    assert first == (200, allowed(a_review("u1")))
    assert second == (200, allowed(a_review("u2")))
    assert client.socket is used


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{", "the body is not JSON: "),
        (b"\xff\xfe", "the body is not JSON: "),
        (b"[" * 100_000, "the body is n"),
        (b"[]", "the body must be a JSON object"),
        (b"{}", "apiVersion must be admission.k8s.io/v1, not None"),
        ({**a_review(), "apiVersion": "admission.k8s.io/v1beta1"}, "not 'admission.k8s.io/v1beta1'"),
        ({**a_review(), "kind": "Pod"}, "kind must be AdmissionReview, not 'Pod'"),
        ({**a_review(), "request": "x" * 1000}, "request must be an object, not 'xxx"),
        ({**a_review(), "request": {}}, "request.uid must be a text that is not empty, not None"),
    ],
)
def test_what_is_no_review_is_refused_with_a_sentence(
    client: Client, body: bytes | Document, sentence: str
) -> None:
    status, answer = client.ask(body)

    assert status == 400
    assert answer.startswith("cannot review: ")
    assert sentence in answer
    assert len(answer) < 300
    assert client.ask(a_review())[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/other", {}, 404),
        ("GET", "/mutate", {}, 404),
        ("PUT", "/mutate", {}, 501),
        ("POST", "/mutate", {"Transfer-Encoding": "chunked"}, 411),
        ("POST", "/mutate", {"Content-Length": "-1"}, 400),
        ("POST", "/mutate", {"Content-Length": str(BOUNDS.body_bytes + 1)}, 413),
        ("POST", "/mutate", {"Content-Length": "9" * 100}, 413),
    ],
)
def test_requests_that_are_no_reviews_get_a_status(
    client: Client, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    assert client.send(method, path, None, headers)[0] == status


def test_a_review_that_fails_is_told_in_the_log_and_the_server_goes_on(
    connect: Callable[[int], Client], caplog: pytest.LogCaptureFixture
) -> None:
    def review(document: Document) -> Document:
        if document["request"]["uid"] == "bad":
            raise RuntimeError("broken")
        return allowed(document)

    with a_webhook(lambda: SETTINGS, review) as (port, _), caplog.at_level(logging.ERROR):
        client = connect(port)
        assert client.ask(a_review("bad")) == (500, "cannot review: see the controller's log")
        assert client.ask(a_review("good"))[0] == 200

    assert "RuntimeError: broken" in caplog.text


def test_whether_it_is_ready_is_asked_at_each_probe(connect: Callable[[int], Client]) -> None:
    ready: list[bool] = [False]
    with a_webhook(lambda: SETTINGS, is_ready=lambda: ready[0]) as (port, _):
        client = connect(port)
        before = client.send("GET", "/readyz")
        ready[0] = True

        assert before == (503, "not ready yet")
        assert client.send("GET", "/readyz") == (200, "ok")


def test_each_answer_to_a_review_is_observed(connect: Callable[[int], Client]) -> None:
    seen: Queue[int] = Queue()
    with a_webhook(lambda: SETTINGS, observe=lambda status, _: seen.put(status)) as (port, _):
        client = connect(port)
        client.ask(a_review())
        client.ask(b"{}")

        assert [seen.get(timeout=10), seen.get(timeout=10)] == [200, 400]


def test_without_a_certificate_a_connection_is_closed_and_with_one_the_next_is_served(
    connect: Callable[[int], Client],
) -> None:
    settings: list[ssl.SSLContext | None] = [None]
    with a_webhook(lambda: settings[0]) as (port, _):
        with pytest.raises((ConnectionError, ssl.SSLError)):
            connect(port).ask(a_review())
        settings[0] = SETTINGS

        assert connect(port).ask(a_review())[0] == 200


def test_a_new_certificate_is_served_to_new_connections_and_old_ones_go_on(
    connect: Callable[[int], Client],
) -> None:
    other = authority()
    settings = [SETTINGS]
    with a_webhook(lambda: settings[0]) as (port, _):
        old = connect(port)
        old.ask(a_review())
        settings[0] = server_settings(other)
        new = Client(port, trusting(other))

        assert new.ask(a_review())[0] == 200
        assert old.ask(a_review())[0] == 200
        new.close()


def silent(port: int) -> socket.socket:
    """A client that connects and says nothing."""
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def halfway(port: int, sent: bytes) -> ssl.SSLSocket:
    """A client that sends a part of a request."""
    plain = socket.create_connection(("127.0.0.1", port), timeout=30)
    connection = TRUST.wrap_socket(plain, server_hostname=HOST)
    connection.sendall(sent)
    return connection


def wait_until_closed(client: socket.socket, now: list[float], step_s: float) -> None:
    """Let the server's clock go on until it closes the client: its thread may note a phase a little late."""
    client.settimeout(1.0)
    for _ in range(20):
        now[0] += step_s
        try:
            assert client.recv(1) == b""
        except TimeoutError:
            continue
        return
    raise AssertionError("the client is not closed")


HALF = b"POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"


def test_clients_that_do_not_go_on_keep_nobody_waiting(connect: Callable[[int], Client]) -> None:
    with a_webhook(lambda: SETTINGS) as (port, _):
        stuck: list[socket.socket] = [silent(port) for _ in range(10)]
        stuck += [halfway(port, HALF[:length]) for length in (1, 30, len(HALF)) for _ in range(5)]

        assert connect(port).ask(a_review())[0] == 200
        for one in stuck:
            one.close()


def test_more_clients_than_allowed_push_out_those_that_have_asked_nothing(
    connect: Callable[[int], Client],
) -> None:
    with a_webhook(lambda: SETTINGS, bounds=Bounds(connections=4, request_s=1000.0)) as (port, _):
        asking = connect(port)
        asking.ask(a_review())
        stuck = [silent(port) for _ in range(20)]

        assert connect(port).ask(a_review())[0] == 200
        assert asking.ask(a_review())[0] == 200
        assert [one.recv(1) for one in stuck[:16]] == [b""] * 16
        for one in stuck:
            one.close()


def test_a_first_request_that_is_not_whole_in_its_time_is_closed(connect: Callable[[int], Client]) -> None:
    now = [0.0]
    with a_webhook(lambda: SETTINGS, clock=lambda: now[0]) as (port, _):
        stuck = [silent(port), halfway(port, HALF)]
        assert connect(port).ask(a_review())[0] == 200  # it came last, so the others are noted
        now[0] += BOUNDS.request_s

        assert [one.recv(1) for one in stuck] == [b"", b""]
        assert connect(port).ask(a_review())[0] == 200
        for one in stuck:
            one.close()


def test_a_later_request_that_is_not_whole_in_its_time_is_closed(connect: Callable[[int], Client]) -> None:
    now, bounds = [0.0], Bounds(request_s=100.0, idle_s=10_000.0)
    with a_webhook(lambda: SETTINGS, bounds=bounds, clock=lambda: now[0]) as (port, _):
        client = connect(port)
        client.ask(a_review())
        assert client.socket is not None
        client.socket.sendall(HALF)

        wait_until_closed(client.socket, now, bounds.request_s)
        assert now[0] < bounds.idle_s


def test_the_time_between_two_requests_is_not_the_time_of_a_request(connect: Callable[[int], Client]) -> None:
    now = [0.0]
    with a_webhook(lambda: SETTINGS, clock=lambda: now[0]) as (port, _):
        client, late = connect(port), silent(port)
        client.ask(a_review())
        used = client.socket
        now[0] += BOUNDS.request_s
        assert late.recv(1) == b""  # so the server has looked

        assert client.ask(a_review())[0] == 200
        assert client.socket is used
        late.close()


def test_a_connection_that_is_not_used_for_long_is_closed(connect: Callable[[int], Client]) -> None:
    now = [0.0]
    with a_webhook(lambda: SETTINGS, clock=lambda: now[0]) as (port, _):
        client = connect(port)
        client.ask(a_review())

        assert client.socket is not None
        wait_until_closed(client.socket, now, BOUNDS.idle_s)


def test_at_the_end_a_review_under_way_is_answered(connect: Callable[[int], Client]) -> None:
    begun, go_on = threading.Event(), threading.Event()
    answers: Queue[Any] = Queue()

    def review(document: Document) -> Document:
        begun.set()
        go_on.wait(30)
        return allowed(document)

    with a_webhook(lambda: SETTINGS, review) as (port, server):
        client, idle = connect(port), connect(port)
        idle.send("GET", "/readyz")
        asking = threading.Thread(target=lambda: answers.put(client.ask(a_review())))
        asking.start()
        begun.wait(30)
        ending = threading.Thread(target=server.end)
        ending.start()
        assert idle.socket is not None
        assert idle.socket.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            silent(port)

        go_on.set()

        assert answers.get(timeout=30)[0] == 200
        asking.join(30)
        ending.join(30)
        assert client.socket is None  # the answer was the last one of its connection


def test_while_the_end_lingers_no_request_is_lost(connect: Callable[[int], Client]) -> None:
    with a_webhook(lambda: SETTINGS) as (port, server):

        def ask() -> None:
            client = Client(port, TRUST)
            assert client.ask(a_review())[0] == 200
            client.close()

        kept = connect(port)
        kept.ask(a_review())
        asking = Asking(2, ask)
        asking.wait_for(5)
        ending = threading.Thread(target=lambda: server.end(linger_s=1.0))
        ending.start()
        asking.wait_for(5)
        assert kept.ask(a_review())[0] == 200
        asking.stop()
        ending.join(30)

        assert asking.failures == []
        assert kept.socket is None


def test_the_certificate_that_a_client_trusts_is_the_one_that_is_served() -> None:
    stranger: Signer = authority()
    with a_webhook(lambda: SETTINGS) as (port, _), pytest.raises(ssl.SSLCertVerificationError):
        Client(port, trusting(stranger)).ask(a_review())
