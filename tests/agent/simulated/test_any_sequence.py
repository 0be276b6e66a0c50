"""Whatever is created and destroyed in whatever order, the GPU and a plain model of it agree."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule
from short_folders import short_folder

from agent.hardware.errors import InsufficientResources, InUse, NotFound
from agent.hardware.simulated import NodeFile, SimulatedMachine, node_text, parse_node
from agent.hardware.types import MigProfile, MigSpec, Placement

ENGINES = ("copy_engines", "decoders", "encoders", "jpeg_engines", "ofa_engines")


def small_machine_with(model: str) -> NodeFile:
    """Two GPUs of a model and nothing else: rendering NICs for every sequence would take the time."""
    text = re.sub(r"memory:.*?\n\n", "\n", node_text("a100x2"), flags=re.DOTALL)
    return parse_node(model, text.replace("a100-sxm4-40gb", model))


class AnySequence(RuleBasedStateMachine):
    """One GPU beside a dictionary of what should be on it."""

    node = small_machine_with("a100-sxm4-40gb")
    gi_ids = Bundle("gi_ids")

    def __init__(self) -> None:
        super().__init__()
        self.directory = short_folder()
        self.machine = SimulatedMachine.open(self.node, Path(self.directory.name))
        self.gpus = self.machine.gpus
        self.card = self.machine.node.cards[0]
        self.uuid = self.card.uuid
        self.profiles = self.gpus.profiles(self.uuid)
        self.living: dict[int, tuple[MigProfile, Placement, str | None]] = {}
        self.uuids: set[str] = set()
        self.gpus.set_mig_mode(self.uuid, True)

    def teardown(self) -> None:
        self.directory.cleanup()

    def fits(self, profile: MigProfile, placement: Placement) -> bool:
        held = {
            at for _, place, _ in self.living.values() for at in range(place.start, place.start + place.size)
        }
        wanted = set(range(placement.start, placement.start + placement.size))
        alike = sum(each is profile for each, _, _ in self.living.values())
        return not held & wanted and alike < profile.max_instances and self.has_engines_for(profile)

    def has_engines_for(self, profile: MigProfile) -> bool:
        for engine in ENGINES:
            used = sum(getattr(each, engine) for each, _, _ in self.living.values())
            if used + getattr(profile, engine) > self.card.model.engines[engine]:
                return False
        return True

    @rule(target=gi_ids, choice=st.data())
    def create_gi(self, choice: st.DataObject):
        profile = choice.draw(st.sampled_from(self.profiles))
        placement = choice.draw(st.sampled_from(profile.placements))
        fits = self.fits(profile, placement)
        try:
            gi_id = self.gpus.create_gpu_instance(MigSpec(self.uuid, profile.profile_id, placement))
        except InsufficientResources:
            assert not fits
            return multiple()
        assert fits
        assert gi_id not in self.living
        self.living[gi_id] = (profile, placement, None)
        return gi_id

    @rule(gi_id=gi_ids)
    def create_ci(self, gi_id: int) -> None:
        profile, placement, uuid = self.living.get(gi_id, (None, None, None))
        try:
            made = self.gpus.create_compute_instance(self.uuid, gi_id)
        except NotFound:
            assert profile is None
        except InsufficientResources:
            assert uuid is not None
        else:
            assert uuid is None
            assert made.uuid not in self.uuids
            self.uuids.add(made.uuid)
            self.living[gi_id] = (profile, placement, made.uuid)

    @rule(gi_id=gi_ids)
    def destroy_ci(self, gi_id: int) -> None:
        profile, placement, uuid = self.living.get(gi_id, (None, None, None))
        try:
            self.gpus.destroy_compute_instance(self.uuid, gi_id, 0)
        except NotFound:
            assert uuid is None
        else:
            assert uuid is not None
            self.living[gi_id] = (profile, placement, None)

    @rule(gi_id=gi_ids)
    def destroy_gi(self, gi_id: int) -> None:
        entry = self.living.get(gi_id)
        try:
            self.gpus.destroy_gpu_instance(self.uuid, gi_id)
        except NotFound:
            assert entry is None
        except InUse:
            assert entry is not None
            assert entry[2] is not None
        else:
            assert entry is not None
            assert entry[2] is None
            del self.living[gi_id]

    @rule()
    def reboot(self) -> None:
        self.machine.reboot()
        self.gpus.set_mig_mode(self.uuid, True)
        self.living.clear()

    @invariant()
    def the_gpu_and_the_model_agree(self) -> None:
        seen = {
            gi.gi_id: (
                gi.profile_id,
                gi.placement,
                gi.compute_instances[0].uuid if gi.compute_instances else None,
            )
            for gi in self.gpus.gpu_instances(self.uuid)
        }
        assert seen == {
            gi_id: (profile.profile_id, placement, uuid)
            for gi_id, (profile, placement, uuid) in self.living.items()
        }


class AnySequenceOnA30(AnySequence):
    node = small_machine_with("a30-24gb")


class AnySequenceOnHopper(AnySequence):
    node = small_machine_with("h100-sxm5-80gb")


class AnySequenceOnRtxPro(AnySequence):
    node = small_machine_with("rtx-pro-6000-blackwell-96gb")


EFFORT = settings(
    max_examples=10, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("machine", [AnySequence, AnySequenceOnA30, AnySequenceOnHopper, AnySequenceOnRtxPro])
def test_any_sequence_of_calls(machine: type[AnySequence]) -> None:
    case = machine.TestCase()
    case.settings = EFFORT
    case.runTest()
