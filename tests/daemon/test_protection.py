"""What protects an address: where the API server does not answer, the log says what is not decided."""

from __future__ import annotations

import logging

import pytest

from daemon.address import Address
from daemon.authorization import Access, Unreviewed
from daemon.metrics_options import MetricsOptions
from daemon.protection import protection_of


@pytest.mark.parametrize("what", ["the metrics", "the page"])
def test_the_log_says_what_somebody_wants_to_read(what: str, caplog: pytest.LogCaptureFixture) -> None:
    def review(token: str, path: str) -> Access:
        raise Unreviewed("connection refused")

    options = MetricsOptions(Address("127.0.0.1", 0), is_authorized=True)
    judge = protection_of(options, review, what).authorization
    assert judge is not None
    with caplog.at_level(logging.WARNING):
        assert judge.of("Bearer reader", "/path") is Access.UNDECIDED
    assert caplog.messages == [f"whether somebody may read {what} is unknown: connection refused"]
