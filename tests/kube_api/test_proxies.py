"""Behind a proxy, TLS goes to the API server itself, through a tunnel that the proxy opens once."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_api import Reply, Script, document
from scripted_api.proxy import Proxy, proxying

from kube_api import RESOURCE_CLAIMS, KubeApi, Unavailable, Untrusted

Connect = Callable[..., KubeApi]


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    yield from proxying(Proxy())


def behind(proxy: Proxy, **cluster: str) -> dict[str, str]:
    return {"proxy-url": f"http://127.0.0.1:{proxy.server_address[1]}", **cluster}


def get(api: KubeApi) -> str:
    return api.get(RESOURCE_CLAIMS, "train", "default").metadata.name


def test_the_tunnel_is_opened_once_for_calls_one_after_another(
    connect: Connect, secure_server: Script, certificate: Path, proxy: Proxy
) -> None:
    there = f"127.0.0.1:{secure_server.server_port}"
    trusted = {"certificate-authority": str(certificate / "tls.crt")}
    secure_server.answers(Reply(document("train")))
    api = connect(f"https://{there}", behind(proxy, **trusted))

    assert [get(api), get(api)] == ["train", "train"]

    assert [line.rsplit(" ", 1)[0] for line in proxy.asked] == [f"CONNECT {there}"]
    assert secure_server.requests[0].headers["Host"] == there


def test_the_certificate_is_the_servers_own(connect: Connect, secure_server: Script, proxy: Proxy) -> None:
    api = connect(f"https://127.0.0.1:{secure_server.server_port}", behind(proxy))

    with pytest.raises(Untrusted, match=r"TLS: .*certificate"):
        get(api)

    assert secure_server.requests == []


def test_a_proxy_that_refuses_is_told_and_the_call_was_not_sent(connect: Connect) -> None:
    for proxy in proxying(Proxy(b"HTTP/1.1 403 Forbidden\r\n\r\n")):
        api = connect("https://api.invalid:6443", behind(proxy), attempts=1)

        with pytest.raises(Unavailable, match="Tunnel connection failed: 403 Forbidden") as caught:
            api.create(RESOURCE_CLAIMS, document("train"))

    assert caught.value.is_unsent


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_away_is_named(connect: Connect, scheme: str) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        there = f"127.0.0.1:{nobody.getsockname()[1]}"
        api = connect(f"{scheme}://api.invalid:6443", {"proxy-url": f"http://{there}"}, attempts=1)

        with pytest.raises(Unavailable, match=f"no connection to the proxy {there}: Connection refused"):
            get(api)
