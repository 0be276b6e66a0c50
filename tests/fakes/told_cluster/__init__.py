"""An API server in memory that is told of claims, and fails as often as it is told to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plugin.base.errors import ReportFailed
from plugin.telling.ports import ClaimEvents, ClaimWriter
from scheduler_core.model.claim import ClaimRef, ClaimUid


@dataclass
class Cluster(ClaimWriter, ClaimEvents):
    """An API server in memory, which fails as often as it is told."""

    said: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    warnings: list[tuple[str, str, str]] = field(default_factory=list)
    failures: int = 0
    is_retriable: bool = True
    attempts: int = 0

    def set_devices(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> None:
        self.attempts += 1
        if self.failures:
            self.failures -= 1
            raise ReportFailed("write", f"claim {ref}", "no", "wait", retry=self.is_retriable)
        self.said[uid] = list(devices)

    def warn(self, ref: ClaimRef, uid: ClaimUid, reason: str, message: str) -> None:
        self.warnings.append((uid, reason, message))

    def warn_of_node(self, reason: str, message: str) -> None:
        self.warnings.append(("", reason, message))
