"""The kubelet's calls: an entry for every claim, and no claim's failure touches another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from plugin._pb.dra_v1.api_pb2 import Claim
from plugin.base.errors import ClaimUnusable, PluginError
from plugin.kubelet.dra_service import Service
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"


@dataclass
class Caller:
    """One call of the kubelet. ``answered`` runs what waits for the answer."""

    hung_up: bool = False
    remaining_s: float | None = 45.0
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def is_active(self) -> bool:
        return not self.hung_up

    def time_remaining(self) -> float | None:
        return self.remaining_s

    def add_callback(self, action: Callable[[], None]) -> bool:
        self.waiting.append(action)
        return not self.hung_up

    def answered(self) -> None:
        for action in self.waiting:
            action()


@dataclass
class Claims:
    """A cluster with these allocated claims, by name."""

    documents: dict[str, Any] = field(default_factory=dict)

    def allocate(self, uid: str, pool: str, *devices: str) -> Claim:
        results = [
            {"request": "r", "driver": "tangram.dev", "pool": pool, "device": device} for device in devices
        ]
        allocation = {"devices": {"results": results}} if devices else None
        self.documents[f"claim-{uid}"] = {
            "metadata": {"namespace": "default", "name": f"claim-{uid}", "uid": uid},
            "status": {"allocation": allocation},
        }
        return Claim(namespace="default", name=f"claim-{uid}", uid=uid)

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        meanwhile()
        if ref.name not in self.documents:
            raise ClaimUnusable("read", f"claim {ref}", "there is no claim of that name")
        found: Mapping[str, Any] = self.documents[ref.name]
        return found


@dataclass
class Observer:
    """Remembers what it is told."""

    changes: list[ClaimUid] = field(default_factory=list)
    failures: dict[ClaimUid, list[str]] = field(default_factory=dict)

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        self.changes.append(uid)

    def failed(
        self, uid: ClaimUid, ref: ClaimRef, attempted: str, error: PluginError, devices: Any = ()
    ) -> None:
        assert all(isinstance(device, AllocatedDevice) for device in devices)
        self.failures[uid] = [str(device.device.device) for device in devices]


@pytest.fixture
def claims() -> Claims:
    return Claims()


@pytest.fixture
def observer() -> Observer:
    return Observer()


@pytest.fixture
def service(bench: Any, claims: Claims, observer: Observer) -> Service:
    return Service(bench.driver, claims, observer)


def test_every_claim_of_a_call_has_its_entry_and_the_good_ones_are_prepared(
    bench: Any, service: Service, claims: Claims
) -> None:
    wanted = [
        claims.allocate("u1", bench.node, HALF),
        claims.allocate("u2", bench.node, "gpu-9"),
        Claim(namespace="default", name="nowhere", uid="u3"),
        claims.allocate("u4", bench.node, "gpu-1"),
    ]

    outcomes = service.prepare(wanted, Caller())  # type: ignore[arg-type]

    assert list(outcomes) == ["u1", "u2", "u3", "u4"]
    assert [bool(outcome.error) for outcome in outcomes.values()] == [False, True, True, False]
    assert [bool(outcome.devices) for outcome in outcomes.values()] == [True, False, False, True]
    assert {record.uid for record in bench.records()} == {"u1", "u4"}


def test_observers_hear_of_a_claim_once_the_answer_is_out(
    bench: Any, service: Service, claims: Claims, observer: Observer
) -> None:
    caller = Caller()
    wanted = claims.allocate("u1", bench.node, HALF)

    service.prepare([wanted], caller)  # type: ignore[arg-type]
    before = list(observer.changes)
    service.unprepare([wanted], caller)  # type: ignore[arg-type]
    caller.answered()

    assert before == []
    assert observer.changes == ["u1", "u1"]
    assert bench.leftovers() == []


def test_of_a_failure_the_observer_learns_the_devices_once_the_allocation_is_known(
    bench: Any, service: Service, claims: Claims, observer: Observer
) -> None:
    known = claims.allocate("u1", bench.node, "gpu-9")
    unknown = Claim(namespace="default", name="nowhere", uid="u2")

    service.prepare([known, unknown], Caller())  # type: ignore[arg-type]

    assert observer.failures == {"u1": ["gpu-9"], "u2": []}
    assert bench.leftovers() == []


def test_a_pod_that_names_another_node_than_its_claims_gets_no_success_with_nothing(
    bench: Any, service: Service, claims: Claims, observer: Observer
) -> None:
    caller = Caller()
    wanted = claims.allocate("u1", "node-1", "gpu-0")

    outcome = service.prepare([wanted], caller)["u1"]  # type: ignore[arg-type]
    undone = service.unprepare([wanted], caller)["u1"]  # type: ignore[arg-type]

    assert f"allocated on node-1, this is {bench.node}" in outcome.error
    assert outcome.devices == ()
    assert observer.failures == {"u1": []}, "the status of another node's device is that node's to write"
    assert undone.error == ""
    assert bench.leftovers() == []


def test_of_a_claim_of_several_nodes_the_observer_learns_the_devices_of_this_one(
    bench: Any, service: Service, claims: Claims, observer: Observer
) -> None:
    wanted = claims.allocate("u1", bench.node, "gpu-9")
    elsewhere = {"request": "r", "driver": "tangram.dev", "pool": "node-1", "device": "gpu-0"}
    claims.documents["claim-u1"]["status"]["allocation"]["devices"]["results"].append(elsewhere)

    service.prepare([wanted], Caller())  # type: ignore[arg-type]

    assert observer.failures == {"u1": ["gpu-9"]}


def test_nothing_is_begun_for_a_caller_that_hung_up(bench: Any, service: Service, claims: Claims) -> None:
    wanted = claims.allocate("u1", bench.node, HALF)

    outcome = service.prepare([wanted], Caller(hung_up=True))["u1"]  # type: ignore[arg-type]

    assert "the kubelet gave up waiting" in outcome.error
    assert bench.leftovers() == []


def test_a_claim_that_is_not_allocated_or_was_replaced_is_refused(
    bench: Any, service: Service, claims: Claims
) -> None:
    unallocated = claims.allocate("u1", bench.node)
    claims.allocate("u2", bench.node, HALF)
    replaced = Claim(namespace="default", name="claim-u2", uid="old")

    outcomes = service.prepare([unallocated, replaced], Caller())  # type: ignore[arg-type]

    assert "cannot prepare claim default/claim-u1: it is not allocated" in outcomes["u1"].error
    assert "the kubelet asks for UID old" in outcomes["old"].error
    assert bench.leftovers() == []


def test_a_uid_that_cannot_be_used_is_refused_and_no_observer_hears_of_it(
    service: Service, observer: Observer
) -> None:
    evil = Claim(namespace="default", name="evil", uid="../../etc")

    for call in (service.prepare, service.unprepare):
        outcome = call([evil], Caller())["../../etc"]  # type: ignore[arg-type]
        assert "must be 1 to 64 letters, digits and dashes" in outcome.error

    assert observer.failures == {}


def test_a_mistake_of_ours_is_the_answer_of_its_claim_alone(
    bench: Any, service: Service, claims: Claims, observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = bench.driver.finish

    def mistaken(preparation: Any, claim: Any, pools: Any) -> Any:
        if claim.uid == "u1":
            raise KeyError("mistake")
        return finish(preparation, claim, pools)

    monkeypatch.setattr(bench.driver, "finish", mistaken)
    wanted = [claims.allocate("u1", bench.node, HALF), claims.allocate("u2", bench.node, "gpu-1")]

    outcomes = service.prepare(wanted, Caller())  # type: ignore[arg-type]

    assert "unexpected KeyError" in outcomes["u1"].error
    assert outcomes["u2"].devices
    assert {record.uid for record in bench.records()} == {"u2"}
    assert list(observer.failures) == ["u1"]


def test_calls_are_timed_and_what_fails_is_counted_by_its_class(
    bench: Any, service: Service, claims: Claims
) -> None:
    wanted = [claims.allocate("u1", bench.node, HALF), claims.allocate("u2", bench.node, "gpu-9")]

    service.prepare(wanted, Caller())  # type: ignore[arg-type]

    text = bench.driver.metrics.text()
    assert 'tangram_plugin_request_seconds_count{method="prepare"} 1.0\n' in text
    assert 'tangram_plugin_requests_in_flight{method="prepare"} 0.0\n' in text
    assert 'tangram_plugin_step_seconds_count{method="prepare",step="read"} 2.0\n' in text
    assert 'tangram_plugin_errors_total{error="NoSuchDevice",method="prepare",nvml=""} 1.0\n' in text
