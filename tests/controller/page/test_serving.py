"""The controller's page: its options, and who may read it, as an API server says."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.options import read_options
from daemon.command_line import InvalidOption


def test_by_default_no_page_is_served() -> None:
    assert read_options([]).page is None


def test_it_is_served_to_others_by_tls_and_token() -> None:
    options = ["--page-address=:8443", "--page-tls-cert=/tls.crt", "--page-tls-key=/tls.key"]
    found = read_options([*options, "--page-authorization=token"]).page
    assert found is not None
    assert (found.address.port, found.certificate, found.is_authorized) == (8443, Path("/tls.crt"), True)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (["--page-address=:8443"], "is no loopback address: give --page-tls-cert and --page-tls-key and"),
        (["--page-address=127.0.0.1:1", "--page-authorization=token"], "a token must not cross a network"),
        (["--page-authorization=none"], "must be given with --page-tls-cert and --page-tls-key"),
        (["--page-address=127.0.0.1:1", "--page-tls-key=/k"], "must be given together"),
    ],
)
def test_an_address_that_others_reach_is_never_open_by_accident(given: list[str], rule: str) -> None:
    with pytest.raises(InvalidOption, match=rule):
        read_options(given)
