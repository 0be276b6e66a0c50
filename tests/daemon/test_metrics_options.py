"""Where metrics are served, and to whom: an address that others reach is never open by accident."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from daemon.command_line import InvalidOption
from daemon.metrics_options import MetricsOptions, add_options, read_options

TLS = ("--metrics-tls-cert=/tls/tls.crt", "--metrics-tls-key=/tls/tls.key")
TOKEN, NONE = "--metrics-authorization=token", "--metrics-authorization=none"


def read(*given: str) -> MetricsOptions | None:
    parser = argparse.ArgumentParser()
    add_options(parser, "/metrics")
    return read_options(parser.parse_args(given))


def test_without_an_address_nothing_is_served() -> None:
    assert read() is None


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "127.8.8.8"])
def test_the_nodes_own_address_needs_nothing_more(host: str) -> None:
    found = read(f"--metrics-address={host}:9464")

    assert found is not None
    assert (found.certificate, found.is_authorized) == (None, False)


@pytest.mark.parametrize("address", [":9464", "0.0.0.0:9464", "[::]:9464", "10.0.0.1:9464", "node-a:9464"])
@pytest.mark.parametrize("given", [(), TLS])
def test_an_address_that_others_reach_is_refused_without_protection(
    address: str, given: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidOption, match=r"is no loopback address: give .*token, or .*none") as caught:
        read(f"--metrics-address={address}", *given)

    assert caught.value.option == "--metrics-address"


def test_with_tls_and_token_it_is_served() -> None:
    found = read("--metrics-address=:9464", *TLS, TOKEN)

    assert found is not None
    assert (found.certificate, found.key, found.is_authorized) == (
        Path("/tls/tls.crt"),
        Path("/tls/tls.key"),
        True,
    )


def test_whoever_says_none_in_so_many_words_serves_it_to_everybody() -> None:
    found = read("--metrics-address=:9464", NONE)

    assert found is not None
    assert not found.is_authorized


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (("--metrics-address=127.0.0.1:1", TLS[0]), "must be given together"),
        (("--metrics-address=127.0.0.1:1", TLS[1]), "must be given together"),
        (("--metrics-address=127.0.0.1:1", TOKEN), "a token must not cross a network in the clear"),
        (TLS, "must be given with"),
        ((NONE,), "must be given with"),
        (("--metrics-address=9464",), "must be HOST:PORT or :PORT"),
    ],
)
def test_options_that_do_not_fit_together_are_refused_in_one_sentence(
    given: tuple[str, ...], rule: str
) -> None:
    with pytest.raises(InvalidOption, match=rule):
        read(*given)
