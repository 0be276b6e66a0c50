"""What is wrong with devices, from what was told: laws and cases of the fold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from told_health import (
    FACTS,
    LOST,
    NIC,
    RULES,
    VF,
    A,
    B,
    causes,
    heard,
    key_of,
    read,
    read_nic,
    start,
    well,
    xid,
)

from agent.hardware.health.types import (
    FabricState,
    GpuEvent,
    GpuEventKind,
    NicVitals,
    Recovery,
    Slowdown,
    Unwatched,
)
from agent.hardware.types import Bdf, GpuUuid
from agent.health.causes import TABLE, Cause, Heals, Severity
from agent.health.findings import merged
from agent.health.fold import after_boot, folded, looked
from agent.health.rules import HealthRules
from agent.health.state import Facts, GpuReading, HealthState, NoAnswer, Told
from agent.health.xids import XIDS

_events = st.builds(
    GpuEvent,
    gpu=st.sampled_from([A, B, GpuUuid("GPU-unknown"), None]),
    kind=st.sampled_from(GpuEventKind),
    xid=st.one_of(st.none(), st.sampled_from(sorted(XIDS)), st.integers(0, 2**32)),
    gi_id=st.none() | st.integers(0, 14),
    times=st.integers(1, 1000),
)
_WORST = {Severity.NOTE: 0, Severity.NO_NEW_PODS: 1, Severity.EVICT: 2}


def _worst(state: HealthState, gpu: GpuUuid = A) -> int:
    own = [entry for entry in state.troubles.items() if entry[0].target == gpu]
    return max((_WORST[one.severity] for one in merged(own, RULES)), default=-1)


@given(
    st.lists(_events, max_size=30).flatmap(lambda found: st.tuples(st.just(found), st.permutations(found)))
)
def test_the_order_of_events_in_one_moment_does_not_matter(
    orders: tuple[list[GpuEvent], list[GpuEvent]],
) -> None:
    one, other = (heard(start(), *events) for events in orders)
    assert one == other


@given(st.lists(_events, max_size=30), _events)
def test_no_event_hides_a_worse_cause_that_was_there(before: list[GpuEvent], event: GpuEvent) -> None:
    state = heard(start(), *before)
    after = heard(state, event, at_s=2.0)
    assert _worst(after) >= _worst(state)
    assert state.troubles.keys() <= after.troubles.keys()


@given(
    st.sampled_from([xid for xid, cause in XIDS.items() if TABLE[cause].heals is Heals.RESET]),
    st.floats(0, 1e9),
)
def test_what_only_a_reset_heals_is_not_healed_by_time_or_good_readings(number: int, later_s: float) -> None:
    state = heard(read(start(), well()), xid(number))
    after = read(state, well(), at_s=1.0 + later_s)
    assert key_of(XIDS[number], number) in after.troubles


def test_a_benign_xid_never_downgrades_a_fatal_one() -> None:
    """NVIDIA's driver keeps one taint for all XIDs, and the last one counts (#1455, PR 1243)."""
    state = heard(heard(start(), xid(79)), xid(31), at_s=2.0)
    assert causes(state) == {Cause.GPU_LOST, Cause.XID_APPLICATION}
    assert _worst(state) == _WORST[Severity.EVICT]


def test_a_lost_gpu_says_nothing_of_the_others() -> None:
    """NVIDIA's driver taints all GPUs of the node when one is lost (#904)."""
    state = read(heard(start(), xid(79)), LOST)
    assert causes(state, A) == {Cause.GPU_LOST}
    assert causes(state, B) == set()


def test_a_lost_gpu_that_answers_again_was_reset() -> None:
    """NVIDIA's driver never takes the taint away (#1455)."""
    state = read(read(heard(start(), xid(79)), LOST, at_s=2.0), well(), at_s=3.0)
    assert causes(state) == set()


def test_a_new_session_with_the_driver_is_no_reset() -> None:
    state = heard(start(), xid(79), xid(119))
    again = looked(folded(state, Told(unwatched=()), RULES, 2.0, FACTS), FACTS, RULES, 3.0)
    assert causes(read(again, well(), at_s=4.0)) == {Cause.GPU_LOST, Cause.XID_RESET}


@pytest.mark.parametrize(
    ("asked", "over"),
    [
        ({"recovery": Recovery.RESET}, {}),
        ({"recovery": Recovery.REBOOT}, {}),
        ({"is_remap_pending": True}, {}),
        ({"uncorrectable_ecc": 3}, {}),
        ({"uncorrectable_ecc": 3}, {"uncorrectable_ecc": 2}),
    ],
)
def test_a_reset_is_seen_by_what_only_a_reset_changes(
    asked: dict[str, object], over: dict[str, object]
) -> None:
    state = read(heard(read(start(), well()), xid(95)), well(**asked))
    assert Cause.XID_RESET in causes(state)
    assert Cause.XID_RESET not in causes(read(state, well(**over), at_s=2.0))


def test_a_driver_that_cannot_tell_a_recovery_heals_nothing_by_silence() -> None:
    state = read(heard(start(), xid(95)), well(recovery=Recovery.RESET))
    assert Cause.XID_RESET in causes(read(state, well(recovery=None), at_s=2.0))


def test_what_came_with_the_reading_of_a_reset_stays() -> None:
    state = read(heard(start(), xid(48)), LOST)
    told = Told((xid(95),), gpus={A: well()})
    assert key_of(Cause.XID_RESET, 95) in folded(state, told, RULES, 5.0, FACTS).troubles
    assert key_of(Cause.XID_RESET, 48) not in folded(state, told, RULES, 5.0, FACTS).troubles


def test_a_cause_that_quiet_heals_is_over_after_its_minutes() -> None:
    state = heard(start(), xid(31))
    assert folded(state, Told(), RULES, 600.0, FACTS) is state
    assert causes(folded(state, Told(), RULES, 601.0, FACTS)) == set()


def test_a_cause_that_comes_again_begins_its_minutes_anew_and_keeps_its_time() -> None:
    state = heard(heard(start(), xid(31)), xid(31, times=4), at_s=500.0)
    (trouble,) = folded(state, Told(), RULES, 900.0, FACTS).troubles.values()
    assert (trouble.since_s, trouble.last_s, trouble.times) == (1.0, 500.0, 5)


def test_a_clock_that_was_set_back_keeps_nothing_for_ever() -> None:
    state = folded(heard(start(), xid(31), at_s=1e9), Told(), RULES, 1000.0, FACTS)
    assert causes(folded(state, Told(), RULES, 1600.0, FACTS)) == set()


def test_the_operator_says_after_how_many_minutes_a_cause_is_over() -> None:
    rules = HealthRules(quiet_s={Cause.XID_APPLICATION: 5.0})
    assert causes(folded(heard(start(), xid(31)), Told(), rules, 6.0, FACTS)) == set()


def test_events_of_unknown_gpus_change_nothing() -> None:
    state = start()
    assert heard(state, xid(79, None), xid(79, GpuUuid("GPU-never-seen"))) is state


def test_a_driver_that_tells_every_number_does_not_fill_the_memory() -> None:
    state = heard(start(), *(xid(number) for number in range(100_000, 101_000)))
    state = heard(state, xid(79))
    assert len(state.troubles) < 200
    assert key_of(Cause.GPU_LOST, 79) in state.troubles


def test_a_boot_ends_all_but_what_the_operator_must_replace() -> None:
    state = read(heard(start(), xid(79), xid(31)), well(has_remap_failed=True, uncorrectable_ecc=2))
    assert after_boot(state, "boot-1") is state
    assert causes(after_boot(state, "boot-2")) == {Cause.REMAP_FAILED}


@pytest.mark.parametrize(
    ("reading", "cause"),
    [
        (well(uncorrectable_ecc=1), Cause.UNCORRECTABLE_ECC),
        (well(is_remap_pending=True), Cause.REMAP_PENDING),
        (well(has_remap_failed=True), Cause.REMAP_FAILED),
        (well(recovery=Recovery.DRAIN_AND_RESET), Cause.RECOVERY_NEEDED),
        (well(recovery=Recovery.OTHER), Cause.RECOVERY_NEEDED),
        (well(links_active=(0,), links_down=(1,)), Cause.NVLINK_DOWN),
        (well(fabric=FabricState.IN_PROGRESS), Cause.FABRIC_NOT_READY),
        (well(fabric=FabricState.ROUTE_UNHEALTHY), Cause.FABRIC_UNHEALTHY),
        (well(fabric=FabricState.MISCONFIGURED), Cause.FABRIC_UNHEALTHY),
        (well(fabric=FabricState.DEGRADED_BANDWIDTH), Cause.FABRIC_DEGRADED),
        (well(slowdowns=frozenset({Slowdown.HARDWARE_THERMAL})), Cause.SLOWDOWN),
        (NoAnswer("the driver hangs"), Cause.DRIVER_SILENT),
        (NoAnswer("no such GPU", is_unknown=True), Cause.NOT_IN_DRIVER),
        (LOST, Cause.GPU_LOST),
    ],
)
def test_a_reading_says_what_is_wrong(reading: GpuReading | NoAnswer, cause: Cause) -> None:
    state = read(read(start(), well()), reading)
    assert causes(state) == {cause}
    assert read(state, reading, at_s=1.0) is state
    assert causes(read(state, well(), at_s=1e6)) == set()


@pytest.mark.parametrize("fabric", FabricState)
def test_each_state_of_the_fabric_but_two_is_one_cause(fabric: FabricState) -> None:
    is_well = fabric in (FabricState.COMPLETED, FabricState.NOT_SUPPORTED)
    assert len(causes(read(start(), well(fabric=fabric)))) == (not is_well)


def test_links_that_were_never_active_are_not_down() -> None:
    assert causes(read(start(), well(links_active=(), links_down=(0, 1)))) == set()


def test_links_say_nothing_in_mig_mode_or_where_claims_join_gpus() -> None:
    before = read(start(), well())
    down = well(links_active=(), links_down=(0, 1), fabric=FabricState.NOT_STARTED)
    assert causes(read(before, replace(down, has_links=False))) == set()
    assert causes(read(before, down, facts=replace(FACTS, is_joined_at_boot=False))) == set()


def test_a_gpu_whose_events_do_not_come_is_noted() -> None:
    told = Told(unwatched=(Unwatched(A, "not supported"),))
    state = folded(start(), told, RULES, 1.0, FACTS)
    assert causes(state) == {Cause.UNWATCHED}
    assert causes(folded(state, Told(unwatched=()), RULES, 2.0, FACTS)) == set()


def _without_a(**more: object) -> Facts:
    return replace(FACTS, gpus={B: FACTS.gpus[B]}, **more)  # type: ignore[arg-type]


def test_a_gpu_that_the_driver_forgot_and_one_that_left_pci_are_told_apart() -> None:
    at = frozenset({FACTS.gpus[A]})
    there = looked(start(), _without_a(unlisted=at), RULES, 1.0)
    assert causes(there) == {Cause.NOT_IN_DRIVER}
    assert causes(looked(start(), _without_a(), RULES, 1.0)) == {Cause.GONE_FROM_PCI}
    assert causes(looked(start(), _without_a(unlisted=at, given_away=at), RULES, 1.0)) == set()
    assert causes(looked(start(), _without_a(are_gpus_read=False), RULES, 1.0)) == set()


def test_a_gpu_that_took_the_place_of_another_one_starts_well() -> None:
    new = GpuUuid("GPU-new")
    state = read(heard(start(), xid(79)), well(has_remap_failed=True))
    facts = replace(FACTS, gpus={new: FACTS.gpus[A], B: FACTS.gpus[B]})
    assert not looked(state, facts, RULES, 1.0).troubles


@pytest.mark.parametrize(
    ("bdf", "reading", "cause"),
    [
        (NIC, NicVitals(bdf=NIC, has_link=False), Cause.NIC_LINK_DOWN),
        (NIC, NicVitals(bdf=NIC, has_link=True, ports_down=("mlx5_0/1",)), Cause.RDMA_PORT_DOWN),
        (NIC, NoAnswer("gone", is_unknown=True), Cause.GONE_FROM_PCI),
        (VF, NoAnswer("gone", is_unknown=True), Cause.VF_LOST),
    ],
)
def test_a_reading_of_a_nic_says_what_is_wrong(bdf: Bdf, reading: NicVitals | NoAnswer, cause: Cause) -> None:
    state = read_nic(start(), bdf, reading)
    assert causes(state, bdf) == {cause}
    assert not read_nic(state, bdf, NicVitals(bdf=bdf, has_link=True)).troubles


def test_an_interface_that_is_set_down_says_nothing_of_its_link() -> None:
    assert not read_nic(start(), NIC, NicVitals(bdf=NIC)).troubles
