"""Claims of one call: side by side where they share no hardware, else one after the other, in few threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from plugin._pb.dra_v1.api_pb2 import Claim
from plugin.kubelet.dra_service import Service
from plugin.telling.ports import NoObserver
from scheduler_core.model.claim import ClaimRef

GPUS = 8


class Caller:
    """A kubelet that waits."""

    def is_active(self) -> bool:
        return True

    def time_remaining(self) -> float:
        return 45.0

    def add_callback(self, _: Callable[[], None]) -> bool:
        return True


@dataclass
class Together:
    """Counts who is here at once. Shape: ``wanted`` how many must be here before anybody goes on."""

    wanted: int
    most: int = 0
    _inside: int = 0
    _changing: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._barrier = threading.Barrier(self.wanted, timeout=60.0)

    def visit(self, *_: object) -> None:
        with self._changing:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self._barrier.wait()
        with self._changing:
            self._inside -= 1


@dataclass
class Claims:
    """A cluster with these allocated claims, by name. Shape: ``readers`` count who reads at once."""

    documents: dict[str, Any] = field(default_factory=dict)
    readers: Together = field(default_factory=lambda: Together(1))

    def allocate(self, uid: str, pool: str, device: str) -> Claim:
        result = {"request": "r", "driver": "tangram.dev", "pool": pool, "device": device}
        self.documents[f"claim-{uid}"] = {
            "metadata": {"namespace": "default", "name": f"claim-{uid}", "uid": uid},
            "status": {"allocation": {"devices": {"results": [result]}}},
        }
        return Claim(namespace="default", name=f"claim-{uid}", uid=uid)

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        self.readers.visit()
        meanwhile()
        found: Mapping[str, Any] = self.documents[ref.name]
        return found


def service_of(bench: Any, claims: Claims) -> Service:
    return Service(bench.driver, claims, NoObserver())  # type: ignore[arg-type]


def succeeded(outcomes: Mapping[str, Any]) -> bool:
    return [outcome.error for outcome in outcomes.values()] == [""] * len(outcomes)


@pytest.mark.parametrize("call", ["create-gpu-instance", "destroy-gpu-instance"])
def test_the_claims_of_eight_gpus_are_worked_on_at_once(bench_of: Callable[..., Any], call: str) -> None:
    at_work = Together(GPUS)
    bench, claims = bench_of("dgx-a100", at_work.visit), Claims()
    bench.inject(*(f"gpu-{minor}:{call}:slow=1:1" for minor in range(GPUS)))
    wanted = [
        claims.allocate(f"u{minor}", bench.node, f"gpu-{minor}-mig-3g-20gb-4-7") for minor in range(GPUS)
    ]
    service = service_of(bench, claims)

    assert succeeded(service.prepare(wanted, Caller()))  # type: ignore[arg-type]
    assert succeeded(service.unprepare(wanted, Caller()))  # type: ignore[arg-type]

    assert at_work.most == GPUS
    assert bench.leftovers() == []


def test_claims_of_one_gpu_are_worked_on_one_after_the_other_in_their_order(
    bench_of: Callable[..., Any],
) -> None:
    at_work = Together(1)
    bench, claims = bench_of("a100x2", at_work.visit), Claims()
    bench.inject("gpu-0:create-gpu-instance:slow=1")
    wanted = [claims.allocate(f"u{start}", bench.node, f"gpu-0-mig-1g-5gb-{start}") for start in range(7)]

    outcomes = service_of(bench, claims).prepare(wanted, Caller())  # type: ignore[arg-type]

    assert succeeded(outcomes)
    assert list(outcomes) == [f"u{start}" for start in range(7)]
    assert at_work.most == 1
    assert [one.gi_id for one in bench.instances()] == sorted(one.gi_id for one in bench.instances())
    assert bench.clock.slept == [], "nobody waited for a lock"


def test_of_two_claims_for_one_device_the_first_of_the_call_gets_it(bench: Any) -> None:
    claims = Claims()
    wanted = [claims.allocate(f"u{number}", bench.node, "gpu-0-mig-3g-20gb-4-7") for number in range(4)]

    outcomes = service_of(bench, claims).prepare(wanted, Caller())  # type: ignore[arg-type]

    assert [bool(outcome.error) for outcome in outcomes.values()] == [False, True, True, True]
    assert all("default/claim-u0" in outcomes[f"u{number}"].error for number in (1, 2, 3))


def test_what_a_claim_had_before_counts_too(bench_of: Callable[..., Any]) -> None:
    at_work = Together(1)
    bench, claims = bench_of("a100x2", at_work.visit), Claims()
    service = service_of(bench, claims)
    service.prepare([claims.allocate("u1", bench.node, "gpu-0-mig-3g-20gb-4-7")], Caller())  # type: ignore[arg-type]
    bench.inject("gpu-0:destroy-gpu-instance:slow=1", "gpu-0:create-gpu-instance:slow=1")
    moved = claims.allocate("u1", bench.node, "gpu-1")  # it was allocated anew
    other = claims.allocate("u2", bench.node, "gpu-0-mig-3g-20gb-4-7")

    assert succeeded(service.prepare([moved, other], Caller()))  # type: ignore[arg-type]

    assert at_work.most == 1
    assert bench.clock.slept == [], "nobody waited for a lock"


def test_a_call_has_a_bounded_number_of_threads(bench: Any) -> None:
    claims = Claims(readers=Together(16))
    wanted = [claims.allocate(f"u{number}", bench.node, "gpu-9") for number in range(64)]

    outcomes = service_of(bench, claims).prepare(wanted, Caller())  # type: ignore[arg-type]

    assert claims.readers.most == 16
    assert len(outcomes) == 64
    assert bench.leftovers() == []
