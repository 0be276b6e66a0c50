"""The server is asked by the name that it has in the configuration."""

from __future__ import annotations

import pytest

from kube_api.connections import Connections
from kube_api.kubernetes_parts import Configuration


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://api.example:6443", "api.example:6443"),
        ("https://api.example:443/clusters/c-1", "api.example"),
        ("http://api.example", "api.example"),
        ("http://api.example:443", "api.example:443"),
        ("https://api.example.:6443", "api.example:6443"),
        ("https://[2001:db8::1]:6443", "[2001:db8::1]:6443"),
        ("https://[fe80::1%25eth0]:6443", "[fe80::1]:6443"),
    ],
)
def test_the_host_that_is_asked_for(address: str, host: str) -> None:
    configuration = Configuration()
    configuration.host = address

    assert Connections(configuration, 1.0).fields == [f"Host: {host}"]


def test_a_proxy_is_asked_for_the_whole_address_with_its_own_headers() -> None:
    configuration = Configuration()
    configuration.host = "http://api.example:6443/below"
    configuration.proxy = "http://127.0.0.1:3128"
    configuration.proxy_headers = {"Proxy-Authorization": "Basic eA=="}

    connections = Connections(configuration, 1.0)

    assert connections.target == "http://api.example:6443/below"
    assert connections.fields == ["Host: api.example:6443", "Proxy-Authorization: Basic eA=="]
