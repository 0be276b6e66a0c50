"""A call with very many claims, or one whose caller hangs up, costs no more than it must."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from plugin._pb.dra_v1.api_pb2 import Claim
from plugin.base.errors import ClaimUnusable
from plugin.kubelet.dra_service import Service
from plugin.telling.ports import NoObserver
from scheduler_core.model.claim import ClaimRef

THREADS = 16


@dataclass
class Caller:
    """A kubelet that hangs up once so many claims were read, if any."""

    patience: int | None = None
    reads: int = 0
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def is_active(self) -> bool:
        return self.patience is None or self.reads < self.patience

    def time_remaining(self) -> float | None:
        return None

    def add_callback(self, _: Callable[[], None]) -> bool:
        return True

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        with self._changing:
            self.reads += 1
        raise ClaimUnusable("read", f"claim {ref}", "the API server has no claim of that name")


class Failures(NoObserver):
    """Counts the failures that users are told of."""

    def __init__(self) -> None:
        self.count = 0

    def failed(self, *_: Any) -> None:
        self.count += 1


def unknown(count: int) -> list[Claim]:
    return [Claim(namespace="default", name=f"unknown-{number}", uid=f"u{number}") for number in range(count)]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("attempted", ["prepare", "unprepare"])
def test_ten_thousand_unknown_claims_are_refused_without_a_record_and_with_one_line(
    bench: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, attempted: str
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("nothing is written for a claim that nobody knows")

    monkeypatch.setattr("plugin.base.files.replace", never)
    caller, failures = Caller(), Failures()
    service = Service(bench.driver, caller, failures)  # type: ignore[arg-type]

    outcomes = getattr(service, attempted)(unknown(10_000), caller)

    is_prepare = attempted == "prepare"
    assert len(outcomes) == 10_000
    assert all(bool(outcome.error) is is_prepare for outcome in outcomes.values())
    assert failures.count == (10_000 if is_prepare else 0)
    assert len(warnings(caplog)) == is_prepare
    if is_prepare:
        (line,) = warnings(caplog)
        assert line.startswith("prepare: 10000 of 10000 claims failed: cannot read claim default/unknown-0: ")
        assert line.endswith("; and 9997 more")


def test_a_call_ends_with_its_caller(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    caller, failures = Caller(patience=100), Failures()
    service = Service(bench.driver, caller, failures)  # type: ignore[arg-type]

    outcomes = service.prepare(unknown(10_000), caller)  # type: ignore[arg-type]

    assert caller.reads < 100 + THREADS
    assert len(outcomes) == 10_000
    assert "the kubelet gave up waiting" in outcomes["u9999"].error
    assert failures.count == 0, "nobody is told of a claim that was not begun"
    assert len(warnings(caplog)) == 1
    assert bench.leftovers() == []


def test_an_unprepare_is_not_begun_for_a_caller_that_hung_up(bench: Any) -> None:
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    caller = Caller(patience=0)
    service = Service(bench.driver, caller, Failures())  # type: ignore[arg-type]
    wanted = Claim(namespace="default", name="claim-u1", uid="u1")

    outcome = service.unprepare([wanted], caller)["u1"]  # type: ignore[arg-type]

    assert outcome.error == "cannot unprepare claim default/claim-u1: the kubelet gave up waiting"
    assert [record.state for record in bench.records()] == ["completed"]


def test_a_caller_that_hangs_up_while_its_claim_is_read_begins_nothing(bench: Any) -> None:
    class Slow(Caller):
        def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
            meanwhile()
            self.reads += 1
            result = {"request": "r", "driver": "tangram.dev", "pool": bench.node, "device": "gpu-0"}
            return {
                "metadata": {"namespace": "default", "name": ref.name, "uid": "u1"},
                "status": {"allocation": {"devices": {"results": [result]}}},
            }

    caller = Slow(patience=1)
    service = Service(bench.driver, caller, NoObserver())  # type: ignore[arg-type]

    outcome = service.prepare([Claim(namespace="default", name="claim-u1", uid="u1")], caller)["u1"]  # type: ignore[arg-type]

    assert "the kubelet gave up waiting" in outcome.error
    assert bench.leftovers() == []


def test_each_of_a_few_failures_is_in_the_one_line(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    caller = Caller()
    service = Service(bench.driver, caller, NoObserver())  # type: ignore[arg-type]

    service.prepare(unknown(3), caller)  # type: ignore[arg-type]
    service.prepare(unknown(1), caller)  # type: ignore[arg-type]

    several, one = warnings(caplog)
    assert all(f"claim default/unknown-{number}: " in several for number in range(3))
    assert "more" not in several
    assert one == "cannot read claim default/unknown-0: the API server has no claim of that name"
