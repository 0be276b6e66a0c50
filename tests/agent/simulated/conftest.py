"""Simulated machines in directories of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.hardware.simulated import SimulatedMachine, load_node, parse_node
from agent.hardware.types import GpuUuid, MigSpec, MigUuid, Placement

Make = Callable[..., SimulatedMachine]


@pytest.fixture
def slept() -> list[float]:
    """The seconds that slow calls have slept."""
    return []


@pytest.fixture
def machine(tmp_path: Path, slept: list[float]) -> Make:
    """A shipped machine, or one with another text under the same name."""

    def make(node: str = "a100x2", text: str | None = None) -> SimulatedMachine:
        file = load_node(node) if text is None else parse_node(node, text)
        return SimulatedMachine.open(file, tmp_path / node, sleep=slept.append)

    return make


class Cutter:
    """One GPU of a machine, its profiles by name."""

    def __init__(self, machine: SimulatedMachine, index: int = 0) -> None:
        self.gpus = machine.gpus
        self.uuid: GpuUuid = machine.node.cards[index].uuid
        self.profiles = {profile.name: profile for profile in self.gpus.profiles(self.uuid)}

    def spec(self, profile: str, start: int) -> MigSpec:
        found = self.profiles[profile]
        return MigSpec(self.uuid, found.profile_id, Placement(start, found.placements[0].size))

    def create(self, profile: str, start: int) -> int:
        return self.gpus.create_gpu_instance(self.spec(profile, start))

    def partition(self, profile: str, start: int) -> tuple[int, MigUuid]:
        gi_id = self.create(profile, start)
        return gi_id, self.gpus.create_compute_instance(self.uuid, gi_id).uuid

    def destroy(self, gi_id: int) -> None:
        self.gpus.destroy_compute_instance(self.uuid, gi_id, 0)
        self.gpus.destroy_gpu_instance(self.uuid, gi_id)


@pytest.fixture
def cut(machine: Make) -> Callable[..., Cutter]:
    """A GPU of a machine, with MIG on."""

    def make(node: str = "a100x2", index: int = 0, text: str | None = None) -> Cutter:
        cutter = Cutter(machine(node, text), index)
        cutter.gpus.set_mig_mode(cutter.uuid, True)
        return cutter

    return make
