"""Writes the file of a node's health as the agent would, for tests of the plugin."""

from __future__ import annotations

from typing import Any

from told_health import RULES

from agent.hardware.health.types import GpuEvent, GpuEventKind
from agent.health.facts import facts_of
from agent.health.fold import folded, looked
from agent.health.state import HealthState, Told
from agent.health.state_file import StateFile
from agent.inventory import discover

BEGAN_S = 1_700_000_000.0
BEGAN = "2023-11-14T22:13:20Z"


class Agent:
    """What the agent of the bench's node would write."""

    def __init__(self, bench: Any) -> None:
        self.facts = facts_of(discover(bench.machine.readers, bench.node))
        self.gpus = list(self.facts.gpus)
        self.file = StateFile(bench.options.health_dir, bench.node)
        self.state = looked(HealthState("boot-1"), self.facts, RULES, 0.0)

    def xid(self, number: int, gpu: int = 0, **more: Any) -> None:
        event = GpuEvent(gpu=self.gpus[gpu], kind=GpuEventKind.XID, xid=number, **more)
        self.state = folded(self.state, Told((event,)), RULES, BEGAN_S, self.facts)
        self.file.replace(self.state)

    def heal(self) -> None:
        self.state = HealthState("boot-1")
        self.file.replace(self.state)
