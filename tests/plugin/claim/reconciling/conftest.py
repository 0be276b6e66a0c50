"""A machine with looks: what is told of claims, and what the API server says of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from plugin.base.errors import ClaimUnreadable
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.reconciling.standing import ASK_S
from plugin.telling.ports import NoObserver
from scheduler_core.model.claim import ClaimRef, ClaimUid

Look = Callable[[], bool]


@dataclass
class Heard(NoObserver):
    """An observer that remembers what it heard, in order."""

    said: list[tuple[str, ...]] = field(default_factory=list)

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        self.said.append(("changed", uid))

    def missing(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        self.said.append(("missing", uid, why))

    def in_use(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        self.said.append(("in-use", uid, why))

    def kept(self, found: Quarantined) -> None:
        self.said.append(("kept", found.uid, found.why))


@dataclass
class Claims:
    """An API server's claims, by name; it counts what it is asked, and may not answer."""

    known: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    is_down: bool = False
    meanwhile: Callable[[], object] = lambda: None

    def find(self, ref: ClaimRef) -> Mapping[str, Any] | None:
        self.asked.append(ref.name)
        self.meanwhile()
        if self.is_down:
            raise ClaimUnreadable("read", f"claim {ref}", "connection refused", "it is retried")
        return self.known.get(ref.name)

    def have(self, uid: str, *devices: str, pods: tuple[str, ...] = ("pod",), pool: str = "a100x2") -> None:
        """Let a claim be there, reserved for pods."""
        results = [
            {"request": "r", "driver": "tangram.dev", "pool": pool, "device": device} for device in devices
        ]
        self.known[f"claim-{uid}"] = {
            "metadata": {"namespace": "default", "name": f"claim-{uid}", "uid": uid},
            "status": {
                "allocation": {"devices": {"results": results}},
                "reservedFor": [{"resource": "pods", "name": pod, "uid": f"uid-{pod}"} for pod in pods],
            },
        }


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def claims() -> Claims:
    return Claims()


@pytest.fixture
def look(bench: Any, heard: Heard, claims: Claims) -> Look:
    """Look once, as the plugin does that serves now."""
    found: Look = lambda: bench.driver.looks(heard, claims).look()  # noqa: E731
    return found


@pytest.fixture
def look_later(bench: Any, look: Look) -> Look:
    """Look after as long as claims are not asked for anew."""

    def later() -> bool:
        bench.clock.now += ASK_S
        return look()

    return later
