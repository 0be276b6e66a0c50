"""What is there and who holds it, compared with the plain ledger: for any devices that claims may hold."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import replace
from functools import cache
from itertools import combinations

import pytest
from dgx_claims import dgx
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.model import SplitGpus
from scheduler_core.books.ledger import Ledger
from scheduler_core.dialects.project import project
from scheduler_core.frontends.occupancy.to_json import cluster_json
from scheduler_core.frontends.occupancy.values import Availability, Mode
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.device import DeviceId
from scheduler_core.state.cluster_state import ClusterState

POOL = dgx()
GPU = [one for one in POOL.devices if one.name == "gpu-0" or one.name.startswith("gpu-0-mig")]
SLICES = {one.name: {int(key[-1]) for key in one.capacity if "emorySlice" in key} for one in GPU}


def profile(device):
    return next((str(value) for key, value in device.attributes.items() if key.endswith("/profile")), "gpu")


KINDS = {name: [one.name for one in GPU if profile(one) == name] for name in map(profile, GPU)}


def claim(name, *devices, admin=False):
    results = tuple(
        AllocatedDevice("r", DeviceId(POOL.id.driver, POOL.id.name, one), admin_access=admin)
        for one in devices
    )
    return AllocatedClaim(ref=ClaimRef("team", name), results=results)


@cache
def known():
    """Return one state with its view: a new one for each example would cost most of the time."""
    state = ClusterState()
    state.set_pool(POOL)
    return state, OccupancyView(state)


def occupancy(taken):
    """Return the occupancy with a claim for each device."""
    state, view = known()
    claims = [claim(f"c{number}", device) for number, device in enumerate(taken)]
    for one in claims:
        state.hold(one)
    found = view.cluster()
    for one in claims:
        state.release(one.ref)
    return found


def gpu_0(found):
    return next(one for one in found.nodes[0].gpus if one.name == "gpu-0")


def ledger_of(taken):
    ledger = Ledger(POOL)
    for device in taken:
        ledger.take(device, "holder")
    return ledger


def most(ledger, names):
    """Return how many of these devices fit together, by trying all."""
    free = [name for name in names if ledger.admits(name)]
    best = 0
    for index, name in enumerate(free):
        if best >= len(free) - index:
            break
        after = copy(ledger)
        after.take(name, "trial")
        best = max(best, 1 + most(after, free[index + 1 :]))
    return best


def room(ledger):
    return sum(len(SLICES[names[0]]) * most(ledger, names) for names in KINDS.values())


def best_room(taken):
    """Return the largest room over all ways to place the same kinds of devices, by trying all."""
    wanted = Counter(next(kind for kind, names in KINDS.items() if one in names) for one in taken)
    ledgers = [Ledger(POOL)]
    for kind, count in wanted.items():
        further = []
        for ledger in ledgers:
            for names in combinations(KINDS[kind], count):
                after = copy(ledger)
                for name in names:
                    if not after.admits(name):
                        break
                    after.take(name, "trial")
                else:
                    further.append(after)
        ledgers = further
    return max(map(room, ledgers))


@st.composite
def takings(draw, most_devices=7):
    """Devices of one GPU that claims may hold together."""
    ledger, taken = Ledger(POOL), []
    for _ in range(draw(st.integers(0, most_devices))):
        free = [one.name for one in GPU if ledger.admits(one.name)]
        if not free:
            break
        taken.append(draw(st.sampled_from(free)))
        ledger.take(taken[-1], "holder")
    return taken


@settings(max_examples=60)
@given(takings())
def test_each_memory_slice_is_held_free_or_unusable_as_the_ledger_says(taken):
    ledger = ledger_of(taken)
    held = set().union(*(SLICES[one] for one in taken))

    for one in gpu_0(occupancy(taken)).memory_slices:
        is_open = any(one.index in SLICES[each.name] and ledger.admits(each.name) for each in GPU)
        expected = (
            Availability.HELD
            if one.index in held
            else Availability.FREE
            if is_open
            else Availability.UNUSABLE
        )
        assert one.state is expected
        assert bool(one.holders) == (expected is Availability.HELD)


@settings(max_examples=30)
@given(takings())
def test_places_are_free_devices_and_as_many_fit_as_can_be_taken_together(taken):
    ledger = ledger_of(taken)

    for one in gpu_0(occupancy(taken)).free:
        assert one.places == sum(ledger.admits(name) for name in KINDS[one.what])
        assert one.fits == most(ledger, KINDS[one.what])


@settings(max_examples=15)
@given(takings(most_devices=3))
def test_the_room_and_the_best_room_are_those_that_trying_everything_finds(taken):
    found = gpu_0(occupancy(taken)).room

    assert (found.now, found.best) == (room(ledger_of(taken)), best_room(taken))


@settings(max_examples=60)
@given(takings())
def test_fragmentation_is_between_none_and_all_and_none_where_nothing_is_held_or_nothing_can_fit(taken):
    gpu = gpu_0(occupancy(taken))

    assert 0 <= gpu.room.fragmentation <= 1
    if not taken or not gpu.room.best:
        assert gpu.room.fragmentation == 0


@settings(max_examples=10)
@given(takings(most_devices=3))
def test_some_way_to_place_the_same_devices_has_no_fragmentation(taken):
    wanted = [next(kind for kind, names in KINDS.items() if one in names) for one in taken]

    def ways(ledger, rest):
        if not rest:
            yield tuple(ledger.taken)
            return
        for name in KINDS[rest[0]]:
            if ledger.admits(name):
                after = copy(ledger)
                after.take(name, "holder")
                yield from ways(after, rest[1:])

    assert any(not gpu_0(occupancy(way)).room.fragmentation for way in ways(Ledger(POOL), wanted))


@pytest.mark.parametrize(
    "taken",
    [[], ["gpu-0"], ["gpu-0-mig-3g-20gb-4-7", "gpu-1-mig-1g-5gb-me-2"], ["gpu-0-mig-1c-2g-10gb-2-3-ci-0"]],
)
def test_both_dialects_tell_the_same_occupancy(taken, tmp_path):
    machine = SimulatedMachine.open(load_node("a100x2"), tmp_path)
    inventory = discover(simulated_hardware(machine).readers, "a100x2")
    composite = describe(replace(inventory, split=SplitGpus(frozenset({0})))).pool
    found = []
    for pool in (composite, project(composite)):
        state = ClusterState()
        state.set_pool(pool)
        results = tuple(AllocatedDevice("r", DeviceId(pool.id.driver, pool.id.name, one)) for one in taken)
        state.hold(AllocatedClaim(ref=ClaimRef("team", "c"), results=results))
        found.append(cluster_json(OccupancyView(state).cluster()))

    assert found[0] == found[1]
    held = [one["holders"] for one in found[0]["nodes"][0]["gpus"][0]["memorySlices"] if one["holders"]]
    assert bool(held) == bool(taken)


def test_a_small_partition_in_the_middle_of_a_gpu_loses_room_and_at_its_end_none():
    middle, end = (gpu_0(occupancy([f"gpu-0-mig-1g-5gb-{place}"])) for place in (2, 6))

    assert middle.room.fragmentation > 0
    assert end.room.fragmentation == 0


def test_seven_small_partitions_leave_a_memory_slice_that_nobody_can_use():
    gpu = gpu_0(occupancy([f"gpu-0-mig-1g-5gb-{place}" for place in range(7)]))

    assert [one.state for one in gpu.memory_slices] == [Availability.HELD] * 7 + [Availability.UNUSABLE]
    assert gpu.room.fragmentation == 0


@pytest.mark.parametrize(
    ("devices", "modes"),
    [((), (Mode.FREE,)), (("gpu-0",), (Mode.WHOLE,)), (("gpu-0-mig-2g-10gb-2-3",), (Mode.MIG,))],
)
def test_the_mode_of_a_gpu_is_how_it_is_in_use_now(devices, modes):
    assert gpu_0(occupancy(devices)).modes == modes


def test_totals_count_what_the_claims_of_a_namespace_hold():
    found = occupancy(["gpu-0-mig-2g-10gb-2-3", "gpu-1", "nic-0000-0c-00-0-vf-1", "nic-0000-12-00-0"])

    (total,) = found.namespaces
    assert (total.namespace, total.claims, total.gpus, total.memory_slices) == ("team", 4, 1, 10)
    assert (total.vfs, total.nics) == (1, 1)
    nic = next(one for one in found.nodes[0].nics if one.name == "nic-0000-0c-00-0")
    assert [one.state for one in nic.vfs][:3] == [Availability.FREE, Availability.HELD, Availability.FREE]
    assert nic.whole.state is Availability.UNUSABLE


def test_a_claim_with_admin_access_holds_nothing():
    state = ClusterState()
    state.set_pool(POOL)
    state.hold(claim("admin", "gpu-0", admin=True))

    found = OccupancyView(state).cluster()

    assert found.holders == ()
    assert gpu_0(found).modes == (Mode.FREE,)


def test_a_view_follows_the_claims_and_pools_of_its_state():
    state = ClusterState()
    state.set_pool(POOL)
    view = OccupancyView(state)
    empty = view.cluster()
    holding = claim("c0", "gpu-0")

    state.hold(holding)
    assert gpu_0(view.cluster()).memory_slices[0].holders == (holding.ref,)
    state.release(holding.ref)
    assert view.cluster() == empty
    state.remove_pool(POOL.id)
    assert view.cluster().nodes == ()


def test_pods_are_those_that_a_claim_is_reserved_for():
    state = ClusterState()
    state.set_pool(POOL)
    state.hold(claim("c0", "gpu-0"))

    found = OccupancyView(state).cluster({ClaimRef("team", "c0"): ("trainer-0",)})

    assert [(one.pods, one.devices) for one in found.holders] == [(("trainer-0",), 1)]
