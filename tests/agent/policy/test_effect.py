"""A device that a claim has keeps its settings; every other device gets those of the policy at once."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.types import Bdf, GpuUuid, MigSpec, Placement
from agent.health.causes import Cause, Severity
from agent.health.rules import HealthRules
from agent.inventory.modes import ModesOfGpu
from agent.inventory.published import ImexChannel, InShares, NicFunction
from agent.policy.effect import Held, in_effect
from agent.policy.resolved import GpuSettings, LinkedSettings, NicSettings, Resolved, VfSettings

WHOLE, MIG = GpuSettings(modes=ModesOfGpu(mig=False)), GpuSettings(modes=ModesOfGpu(whole=False))
A, B, NIC = GpuUuid("GPU-a"), GpuUuid("GPU-b"), Bdf("0000:01:00.0")
NAMES = {"GPU-a": "gpu-0"}


def test_a_gpu_that_a_claim_has_waits_and_the_others_do_not() -> None:
    before, wanted = Resolved(gpus={A: WHOLE, B: WHOLE}), Resolved(gpus={A: MIG, B: MIG})

    found = in_effect(before, wanted, Held(gpus=frozenset({A})), NAMES)

    assert found.settings.gpus == {A: WHOLE, B: MIG}
    assert [one.device for one in found.waiting] == ["gpu-0"]


def test_when_the_claim_has_ended_nothing_waits() -> None:
    before, wanted = Resolved(gpus={A: WHOLE}), Resolved(gpus={A: MIG})

    assert in_effect(before, wanted, Held(), NAMES).settings == wanted


def test_while_nobody_knows_what_claims_have_nothing_changes() -> None:
    before = Resolved(gpus={A: WHOLE}, nics={NIC: NicSettings(excluded=False)})
    wanted = Resolved(gpus={A: MIG}, nics={NIC: NicSettings(excluded=True)}, linked=LinkedSettings(board="b"))

    found = in_effect(before, wanted, Held.of(None), {})

    assert found.settings == before
    assert len(found.waiting) == 3


def test_a_device_that_is_not_there_now_keeps_what_it_had() -> None:
    assert in_effect(Resolved(gpus={A: MIG}), Resolved(), Held(), {}).settings.gpus == {A: MIG}


def test_partitions_of_gpus_wait_for_every_gpu_and_channels_for_every_channel() -> None:
    wanted = Resolved(linked=LinkedSettings(board="b"), imex_channels=2)

    held = in_effect(Resolved(), wanted, Held(gpus=frozenset({B}), has_imex=True), {})

    assert (held.settings.linked, held.settings.imex_channels) == (None, None)
    assert [one.device for one in held.waiting] == ["partitions of GPUs", "IMEX channels"]


def test_what_operators_say_of_a_device_is_published_while_claims_have_it() -> None:
    vfs = {0: VfSettings(attributes={"a.b/c": "x"}, excluded=True)}
    wanted = Resolved(
        gpus={A: GpuSettings(modes=MIG.modes, attributes={"a.b/c": 1})},
        nics={NIC: NicSettings(attributes={"a.b/c": 2}, vfs=vfs)},
    )

    found = in_effect(Resolved(), wanted, Held(frozenset({A}), frozenset({NIC})), {}).settings

    assert found.gpus[A] == GpuSettings(attributes={"a.b/c": 1})
    assert found.nics[NIC].attributes == {"a.b/c": 2}
    assert found.nics[NIC].vfs == {0: VfSettings(attributes={"a.b/c": "x"})}


def test_rules_of_health_count_at_once_since_they_change_no_device() -> None:
    rules = HealthRules({Cause.SLOWDOWN: Severity.EVICT}, {Cause.SLOWDOWN: 60.0}, {79: Severity.NOTE})

    found = in_effect(Resolved(), Resolved(health=rules), Held.of(None), {})

    assert found.settings.health == rules
    assert found.waiting == ()
    assert msgspec.json.decode(msgspec.json.encode(found.settings), type=Resolved) == found.settings


def test_all_kinds_of_claimed_devices_hold_their_hardware() -> None:
    spec = MigSpec(A, 0, Placement(0, 1))
    hardware = frozenset(
        {spec, InShares(B), NicFunction(NIC, 3), ImexChannel(1), frozenset({GpuUuid("GPU-c")})}
    )

    held = Held.of(hardware)

    assert held == Held(frozenset({A, B, GpuUuid("GPU-c")}), frozenset({NIC}), has_imex=True)


SETTINGS = st.sampled_from([WHOLE, MIG, GpuSettings(), GpuSettings(compute_instances=True)])
GPUS = st.dictionaries(st.sampled_from([A, B]), SETTINGS)


@given(GPUS, GPUS, st.sets(st.sampled_from([A, B])))
def test_held_gpus_never_change_free_ones_always_do_and_whoever_differs_is_told(before, wanted, held) -> None:
    found = in_effect(Resolved(gpus=before), Resolved(gpus=wanted), Held(gpus=frozenset(held)), {})

    for uuid in wanted:
        had = before.get(uuid, GpuSettings())
        assert found.settings.gpus[uuid] == (had if uuid in held else wanted[uuid])
    assert {one.device for one in found.waiting} == {
        uuid for uuid in wanted if found.settings.gpus[uuid] != wanted[uuid]
    }


@given(GPUS, GPUS, st.sets(st.sampled_from([A, B])))
def test_a_second_look_at_the_same_changes_nothing(before, wanted, held) -> None:
    once = in_effect(Resolved(gpus=before), Resolved(gpus=wanted), Held(gpus=frozenset(held)), {})
    twice = in_effect(once.settings, Resolved(gpus=wanted), Held(gpus=frozenset(held)), {})

    assert twice == once
    assert msgspec.json.decode(msgspec.json.encode(once.settings), type=Resolved) == once.settings
