"""Metrics over TLS for callers whom the API server allows, over real sockets."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from webhook_clients import LocalConnection, authority, pair, trusting

from agent.publishing.metrics import Metrics
from daemon.authorization import Access, Authorization
from daemon.serving.bounded_server import Protection
from daemon.status_server import answers_of, serving
from daemon.tls import CertificateFiles

SIGNER = authority()


@pytest.fixture
def files(tmp_path: Path) -> CertificateFiles:
    replace(tmp_path)
    return CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path)


def replace(folder: Path) -> None:
    certificate, key = pair(SIGNER)
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)


@pytest.fixture
def port(files: CertificateFiles) -> Iterator[int]:
    known = {"good": Access.ALLOWED, "poor": Access.FORBIDDEN}
    judge = Authorization(lambda token, _: known.get(token, Access.UNKNOWN), lambda: 0.0)
    answers = answers_of(Metrics(), lambda: 1.0, lambda: True)
    with serving(("127.0.0.1", 0), answers, Protection(files.context, judge)) as found:
        yield found


def ask(port: int, path: str, token: str | None = None) -> tuple[int, str, http.client.HTTPMessage]:
    client = LocalConnection(port, trusting(SIGNER))
    try:
        client.request("GET", path, headers={} if token is None else {"Authorization": f"Bearer {token}"})
        answer = client.getresponse()
        return answer.status, answer.read().decode(), answer.headers
    finally:
        client.close()


def test_an_allowed_caller_reads_the_metrics(port: int) -> None:
    status, text, _ = ask(port, "/metrics", "good")

    assert status == 200
    assert "tangram_agent_build_info" in text


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("wrong", 401), ("poor", 403)])
def test_anybody_else_learns_why_and_no_metric(port: int, token: str | None, status: int) -> None:
    found, text, headers = ask(port, "/metrics", token)

    assert found == status
    assert "tangram_agent" not in text
    assert headers["WWW-Authenticate"] == ("Bearer" if status == 401 else None)


@pytest.mark.parametrize("path", ["/metrics?x=1", "/metrics?"])
def test_a_query_is_no_way_around_it(port: int, path: str) -> None:
    assert ask(port, path)[0] == 401


def test_whether_a_program_is_well_is_no_secret(port: int) -> None:
    assert ask(port, "/healthz")[0] == 200


def test_a_client_that_speaks_no_tls_gets_nothing_and_the_next_one_is_served(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as plain:
        plain.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b"tangram" not in plain.recv(4096)

    assert ask(port, "/metrics", "good")[0] == 200


def test_a_client_that_says_nothing_keeps_nobody_waiting(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=10):
        assert ask(port, "/metrics", "good")[0] == 200


def test_a_certificate_that_was_replaced_is_shown_to_the_next_client(port: int, tmp_path: Path) -> None:
    before = shown(port)

    replace(tmp_path)

    assert shown(port) != before


def test_without_a_certificate_no_client_is_served_until_there_is_one(tmp_path: Path) -> None:
    files = CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path)
    answers = answers_of(Metrics(), lambda: 1.0, lambda: True)
    with serving(("127.0.0.1", 0), answers, Protection(files.context)) as port:
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(port, "/metrics")
        replace(tmp_path)

        assert ask(port, "/metrics")[0] == 200


def shown(port: int) -> bytes | None:
    """Return the certificate that the server shows."""
    with (
        socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
        trusting(SIGNER).wrap_socket(plain, server_hostname="localhost") as client,
    ):
        assert isinstance(client, ssl.SSLSocket)
        return client.getpeercert(binary_form=True)
