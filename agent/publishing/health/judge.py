"""Judges each discovery by what is known of the health of its devices, and tells what changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.health.tainted import judged
from agent.publishing.forms import Found
from agent.publishing.health.kept import KeptHealth


@dataclass(frozen=True, slots=True)
class HealthJudge:
    """Adds to a discovery what is wrong with its devices. Shape: ``hear`` is told each judgement."""

    kept: KeptHealth
    hear: Callable[[Found], None]

    def __call__(self, found: Found) -> Found:
        """Return what is to be published of a discovery."""
        health = judged(found.devices, found.instances, self.kept.state, self.kept.rules)
        after = replace(found, health=health)
        self.hear(after)
        return after
