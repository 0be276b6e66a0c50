"""What could not be told is told later and later, and keeps nothing else waiting."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from told_cluster import Cluster

from plugin.telling.reports import Reports
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"
UID, REF = ClaimUid("u1"), ClaimRef("default", "claim-u1")
Deliver = Callable[[], float | None]


def test_a_failure_is_tried_again_later_and_later(
    bench: Any, cluster: Cluster, reports: Reports, clock: Any
) -> None:
    bench.prepare("u1", HALF)
    cluster.failures = 3
    reports.changed(UID, REF)

    waits = []
    while (wait_s := reports.deliver()) is not None:
        waits.append(wait_s)
        clock.now += wait_s

    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert cluster.said["u1"]


def test_a_server_that_is_gone_for_an_hour_is_asked_once_a_minute_and_told_of_once(
    bench: Any, cluster: Cluster, reports: Reports, clock: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.prepare("u1", HALF)
    cluster.failures = 65
    reports.changed(UID, REF)

    waits = []
    with caplog.at_level(logging.WARNING):
        while (wait_s := reports.deliver()) is not None:
            waits.append(wait_s)
            clock.now += wait_s

    assert waits[5:] == [16.0, 32.0] + [60.0] * 59
    assert caplog.text.count("cannot write claim default/claim-u1: no; wait") == 1
    assert cluster.said["u1"]


def test_what_cannot_be_mended_by_waiting_is_given_up_at_once(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", HALF)
    cluster.failures, cluster.is_retriable = 1, False
    reports.changed(UID, REF)

    assert deliver() is None
    assert cluster.attempts == 1


def test_a_claim_that_fails_keeps_no_other_waiting(
    bench: Any, cluster: Cluster, reports: Reports, deliver: Deliver
) -> None:
    bench.prepare("u1", HALF)
    bench.prepare("u2", "gpu-1")
    cluster.failures = 1
    for uid in ("u1", "u2"):
        reports.changed(ClaimUid(uid), ClaimRef("default", f"claim-{uid}"))

    deliver()

    assert list(cluster.said) == ["u2"]


def test_no_more_than_a_thousand_wait(
    cluster: Cluster, reports: Reports, deliver: Deliver, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(1030):
        reports.changed(ClaimUid(f"u{number}"), ClaimRef("default", f"c{number}"))

    deliver()

    assert len(cluster.said) == 1024
    assert "u0" not in cluster.said
    assert caplog.text.count("too many wait") == 6
