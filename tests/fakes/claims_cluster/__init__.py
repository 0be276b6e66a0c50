"""A kubelet, a plugin whose claims are in an API server, and what that plugin has to tell there."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Semaphore
from typing import Any

from claims_cluster.server import Server
from plugin.api import ClusterClaims
from plugin.claim.record_store import RecordStore
from plugin.telling.reports import Reports
from scheduler_core.model.claim import ClaimRef, ClaimUid


@dataclass
class Clock:
    """Time that passes when a test says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


class Hearing(Reports):
    """Reports that say when they were told of something: that comes after the kubelet has its answer."""

    def __init__(self, *ports: Any) -> None:
        super().__init__(*ports)
        self.heard = Semaphore(0)

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        super().changed(uid, ref)
        self.heard.release()

    def failed(self, *failure: Any) -> None:
        super().failed(*failure)
        self.heard.release()


@dataclass
class Cluster:
    """A kubelet, a plugin that reads claims from a server, and what that plugin has to tell."""

    server: Server
    kubelet: Any
    reports: Hearing
    claims: ClusterClaims
    clock: Clock

    def deliver(self, reports: Hearing | None = None) -> float | None:
        """Wait for a change, let the time pass that it waits, then write."""
        reports = reports or self.reports
        assert reports.heard.acquire(timeout=10.0)
        self.clock.now += 0.5
        return reports.deliver()


def reports_of(site: Any, claims: ClusterClaims, clock: Clock) -> Hearing:
    return Hearing(RecordStore(site.options.claims_dir), claims, claims, clock, lambda: 1_800_000_000.0)
