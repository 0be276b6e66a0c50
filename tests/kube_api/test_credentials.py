"""Tokens are replaced while the program runs, and nobody speaks to a server that is not the right one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_api import Clock, Reply, Request, Script, document, status

from kube_api import NODES, RESOURCE_CLAIMS, Forbidden, KubeApi, Unavailable, Untrusted


def accepting(*tokens: str) -> Callable[[Request], Reply]:
    """Answer only to these tokens."""
    accepted = [f"bearer {token}" for token in tokens]

    def answer(request: Request) -> Reply:
        if request.headers.get("Authorization", "").lower() in accepted:
            return Reply({"metadata": {"name": "a"}})
        return Reply(status(401, "Unauthorized", "Unauthorized"), 401)

    return answer


@pytest.fixture
def account(tmp_path: Path, certificate: Path) -> Path:
    folder = tmp_path / "serviceaccount"
    folder.mkdir()
    (folder / "token").write_text("first")
    (folder / "ca.crt").write_bytes((certificate / "tls.crt").read_bytes())
    return folder


@pytest.fixture
def in_pod(secure_server: Script, account: Path, clock: Clock, tmp_path: Path) -> Iterator[KubeApi]:
    environ = {
        "HOME": str(tmp_path),
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(secure_server.server_port),
    }
    api = KubeApi.connect(
        user_agent="tangram-test",
        clock=clock,
        sleep=clock.sleep,
        random=lambda: 0.0,
        environ=environ,
        service_account=account,
    )
    yield api
    api.close()


def test_a_pod_speaks_with_its_service_account_to_the_server_of_its_authority(
    in_pod: KubeApi, secure_server: Script
) -> None:
    secure_server.answers(accepting("first"))

    assert in_pod.get(NODES, "a").metadata.name == "a"


def test_a_token_that_was_replaced_is_used_as_soon_as_the_old_one_is_refused(
    in_pod: KubeApi, secure_server: Script, account: Path
) -> None:
    secure_server.answers(accepting("second"))
    (account / "token").write_text("second\n")

    assert in_pod.get(NODES, "a").metadata.name == "a"
    assert in_pod.get(NODES, "a").metadata.name == "a"

    assert len(secure_server.requests) == 3


def test_a_write_with_an_old_token_is_done_once_with_the_new_one(
    in_pod: KubeApi, secure_server: Script, account: Path
) -> None:
    secure_server.answers(accepting("second"))
    (account / "token").write_text("second")

    in_pod.create(RESOURCE_CLAIMS, document("a"))

    assert [request.method for request in secure_server.requests] == ["POST", "POST"]


def test_a_token_that_is_refused_and_not_replaced_is_not_tried_again(
    in_pod: KubeApi, secure_server: Script
) -> None:
    secure_server.answers(accepting("other"))

    with pytest.raises(Forbidden, match=r"cannot get Node a: Unauthorized \(401 Unauthorized\)"):
        in_pod.get(NODES, "a")

    assert len(secure_server.requests) == 1


@pytest.mark.parametrize("damage", [Path.unlink, lambda token: token.write_text("")])
def test_a_token_that_vanished_leaves_the_servers_answer(
    in_pod: KubeApi, secure_server: Script, account: Path, damage: Callable[[Path], Any]
) -> None:
    secure_server.answers(accepting("other"))
    damage(account / "token")

    with pytest.raises(Forbidden):
        in_pod.get(NODES, "a")


@pytest.mark.parametrize("garbage", ["two\nlines", "unicode-ü", "nul\0"])
def test_a_token_that_is_none_is_told_and_not_sent(
    connect: Callable[..., KubeApi], server: Script, garbage: str
) -> None:
    api = connect(f"http://127.0.0.1:{server.server_port}", user={"token": garbage})

    with pytest.raises(
        Unavailable, match="cannot get Node a: the token has characters that a header cannot have"
    ):
        api.get(NODES, "a")

    assert server.requests == []


def test_a_server_of_another_authority_gets_no_request_and_is_tried_once(
    connect: Callable[..., KubeApi], secure_server: Script, clock: Clock
) -> None:
    api = connect(f"https://127.0.0.1:{secure_server.server_port}")

    with pytest.raises(Untrusted, match=r"cannot get Node a: TLS: .*certificate.*; correct the certificate"):
        api.get(NODES, "a")

    assert secure_server.requests == []
    assert clock.slept == []


def test_a_server_of_another_name_gets_no_request(
    connect: Callable[..., KubeApi], secure_server: Script, certificate: Path
) -> None:
    cluster = {"certificate-authority": str(certificate / "tls.crt"), "tls-server-name": "elsewhere"}
    api = connect(f"https://127.0.0.1:{secure_server.server_port}", cluster)

    with pytest.raises(Untrusted, match="elsewhere"):
        api.get(NODES, "a")

    assert secure_server.requests == []


def test_tls_may_be_left_unchecked_by_whoever_writes_the_kubeconfig(
    connect: Callable[..., KubeApi], secure_server: Script
) -> None:
    api = connect(f"https://127.0.0.1:{secure_server.server_port}", {"insecure-skip-tls-verify": True})
    secure_server.answers(accepting("first"))

    assert api.get(NODES, "a").metadata.name == "a"


def test_a_server_that_speaks_no_tls_is_unavailable(connect: Callable[..., KubeApi], server: Script) -> None:
    api = connect(f"https://127.0.0.1:{server.server_port}", attempts=1)

    with pytest.raises(Unavailable):
        api.get(NODES, "a")


def test_no_error_shows_a_token(in_pod: KubeApi, secure_server: Script) -> None:
    secure_server.answers(Reply(status(500, "InternalError", "broken"), 500))

    with pytest.raises(Unavailable) as caught:
        in_pod.get(NODES, "a")

    assert "first" not in repr(caught.value) + str(caught.value.__cause__)
