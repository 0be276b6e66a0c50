"""What one change of a state does, and what it leaves alone."""

import gc
from dataclasses import replace

import pytest

from scheduler_core.base.quantity import Quantity
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
    ClaimRef,
    ClaimUid,
    DeviceClass,
    DeviceRequest,
    Request,
)
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import Device, DeviceId, DeviceName
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Matching, Node, OnNode, Operator, Requirement
from scheduler_core.model.pool import PoolId
from scheduler_core.model.result import Allocation
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

POOL = PoolId(DRIVER, NODE.name)
HERE = OnNode(NODE.name)
ASKED = claim(request("r"))
CLASSES = {"any": ANY}


def composite(*names, name="s", **changes):
    devices = tuple(device(one, m=1) for one in names)
    return CompositeSlice(name=name, pool=POOL, nodes=HERE, devices=devices, **changes)


def v1(*names, name="s", nodes=HERE, **changes):
    devices = tuple(Device(name=DeviceName(one), nodes=nodes) for one in names)
    usual = {"pool": POOL, "generation": 1, "slice_count": 1}
    return V1Slice(**(usual | changes), name=name, nodes=nodes, devices=devices)


def state_of(*slices, claims=()):
    state = ClusterState(CLASSES)
    state.upsert_slices(slices)
    for one in claims:
        state.hold(one)
    return state


def names(state):
    return [str(one.name) for found in state.pools() for one in found.devices]


def allocated(state):
    answer = Engine(state).decide([ASKED], NODE)
    return answer and [str(one.device.device) for one in answer.results[ASKED.ref]]


@pytest.mark.parametrize(
    ("slices", "counts"),
    [
        ([composite("c"), v1("v")], ["c"]),
        ([v1("v"), composite("c")], ["c"]),
        ([composite("c", slice_count=2), v1("v")], ["v"]),
        ([composite("c", problem="unknown kind"), v1("v")], ["v"]),
        ([composite("c", slice_count=2), v1("v", slice_count=2)], ["v"]),
        ([composite("c", slice_count=2)], ["c"]),
    ],
)
def test_of_both_dialects_the_composite_pool_counts_while_it_is_complete_and_valid(slices, counts):
    assert names(state_of(*slices)) == counts


def test_a_dialect_that_stops_counting_leaves_its_place_to_the_other():
    state = state_of(composite("c"), v1("v"))

    state.remove_composite_slice("s")
    assert allocated(state) == ["v"]

    state.upsert_slices([composite("c")])
    assert allocated(state) == ["c"]

    state.remove_composite_slice("s")
    state.remove_v1_slice("s")
    assert names(state) == []


def test_a_pool_that_is_given_as_a_whole_counts_before_its_slices():
    state = state_of(v1("v"))

    state.set_pool(pool(device("given", m=1)))
    assert names(state) == ["given"]

    state.remove_pool(POOL)
    assert names(state) == ["v"]


def test_nothing_of_a_generation_is_allocated_before_all_its_slices_are_there():
    state = state_of(v1("old"))

    state.upsert_slices([v1("b", name="t", generation=2, slice_count=2)])
    assert allocated(state) is None

    state.upsert_slices([v1("a", generation=2, slice_count=2)])
    assert allocated(state) == ["a"]


def test_a_slice_that_changes_leaves_the_devices_of_the_others_as_they_were():
    state = state_of(v1("a", name="0", slice_count=2), v1("b", "c", name="1", slice_count=2))

    state.upsert_slices([v1("z", name="0", slice_count=2)])

    assert names(state) == ["z", "b", "c"]


def test_of_compiled_v1_pools_no_devices_are_kept_but_those_of_the_first_of_its_kind():
    alike = [v1("told-apart", name=name, pool=PoolId(DRIVER, name)) for name in ("a", "b", "c")]
    state = state_of(*alike)
    alike.clear()

    gc.collect()

    found = [one for one in gc.get_objects() if type(one) is Device and one.name == "told-apart"]
    assert len(found) <= 1
    assert names(state) == ["told-apart"] * 3


class Told:
    """Notes which pools' components entered and left."""

    def __init__(self):
        self.entered, self.left, self.claims = [], [], 0

    def component_entered(self, component):
        self.entered.append(component.pool.name)

    def component_left(self, component):
        self.left.append(component.pool.name)

    def component_moved(self, component, before): ...

    def view_dropped(self, node_view): ...

    def devices_taken(self, nodes):
        self.claims += 1

    def devices_given(self, nodes):
        self.claims += 1

    def classes_changed(self, classes): ...


def test_a_slice_that_changes_concerns_its_pool_only():
    state, told = state_of(v1("a"), v1("b", name="t", pool=PoolId(DRIVER, "other"))), Told()
    state.subscribe(told)
    told.entered.clear()

    state.upsert_slices([v1("c")])

    assert told.left == told.entered == [NODE.name]


def test_a_slice_of_a_dialect_that_does_not_count_changes_nothing():
    state, told = state_of(composite("c")), Told()
    state.subscribe(told)
    told.entered.clear()

    state.upsert_slices([v1("v")])

    assert told.left == told.entered == []


def test_a_claim_that_is_told_again_changes_nothing():
    state, told = state_of(v1("a"), claims=[held("a")]), Told()
    state.subscribe(told)

    state.hold(held("a"))

    assert told.claims == 0


def test_a_device_that_two_claims_hold_is_free_when_both_have_released_it():
    one, two = held("a", by="one"), held("a", by="two")
    state = state_of(v1("a"), claims=[one, two])
    identity = DeviceId(DRIVER, NODE.name, DeviceName("a"))
    assert state.holders(identity) == (one, two)

    state.release(one.ref)
    assert state.holders(identity) == (two,)
    assert allocated(state) is None

    state.release(two.ref)
    assert state.holders(identity) == ()
    assert allocated(state) == ["a"]


def test_a_claim_that_was_created_again_is_another_claim():
    first = replace(held("a"), uid=ClaimUid("1"))
    again = replace(held("b"), uid=ClaimUid("2"))
    state = state_of(v1("a", "b"), claims=[first, again])
    assert allocated(state) is None

    state.release(ClaimUid("1"))

    assert allocated(state) == ["a"]


def test_a_claim_that_changes_gives_back_what_it_held():
    state = state_of(v1("a", "b"), claims=[replace(held("a"), uid=ClaimUid("1"))])

    state.hold(replace(held("b"), uid=ClaimUid("1")))

    assert allocated(state) == ["a"]


def test_a_claim_that_holds_nothing_cannot_be_released():
    with pytest.raises(KeyError):
        ClusterState().release(ClaimRef("default", "nobody"))


def test_a_claim_keeps_what_it_holds_while_its_pool_is_away():
    state = state_of(v1("a", "b"), claims=[held("a")])

    state.remove_v1_slice("s")
    assert names(state) == []

    state.upsert_slices([v1("a", "b")])
    assert allocated(state) == ["b"]


def test_a_claim_that_is_released_while_its_pool_is_away_holds_nothing_later():
    state = state_of(v1("a"), claims=[held("a")])
    engine = Engine(state)

    state.remove_v1_slice("s")
    state.release(ClaimRef("default", "other"))
    state.upsert_slices([v1("a")])

    assert engine.decide([ASKED], NODE) is not None


def test_a_claim_that_is_released_while_the_other_dialect_counts_holds_nothing_later():
    state = state_of(v1("a"), claims=[held("a")])

    state.upsert_slices([composite("c")])
    state.release(ClaimRef("default", "other"))
    state.remove_composite_slice("s")

    assert allocated(state) == ["a"]


def share_of(amount, by):
    place = DeviceId(DRIVER, NODE.name, DeviceName("shared"))
    part = AllocatedDevice("r", place, share_id=by, consumed={"m": Quantity.of(amount)})
    return AllocatedClaim(ref=ClaimRef("default", by), results=(part,))


def test_a_share_that_is_released_while_the_other_dialect_counts_is_free_later():
    capacity = {qualified("m", DRIVER): Quantity.of(3)}
    shared = Device(name=DeviceName("shared"), nodes=HERE, is_shareable=True, capacity=capacity)
    wanted = DeviceRequest(name="r", class_name="any", capacity={"m": Quantity.of(2)})
    asked = claim(Request(name="r", alternatives=(wanted,)))
    state = state_of(replace(v1(), devices=(shared,)), claims=[share_of(3, "first")])
    assert Engine(state).decide([asked], NODE) is None

    state.upsert_slices([composite("c")])
    state.release(ClaimRef("default", "first"))
    state.remove_composite_slice("s")
    state.hold(share_of(1, "second"))

    assert isinstance(Engine(state).decide([asked], NODE), Allocation)


def test_a_class_that_comes_changes_or_goes_counts_in_the_next_question():
    state = ClusterState()
    state.upsert_slices([v1("a")])
    engine = Engine(state)

    state.set_class(DeviceClass(name="any", selectors=("false",)))
    assert engine.decide([ASKED], NODE) is None

    state.set_class(ANY)
    assert engine.decide([ASKED], NODE) is not None

    state.remove_class("any")
    state.remove_class("any")
    assert state.classes == {}


def test_the_labels_of_a_node_count_where_no_node_is_named():
    gpu = Matching((Requirement("gpu", Operator.EXISTS),))
    state = state_of(v1("a", name="own"))
    fabric = replace(pool(device("fabric", m=1)), id=PoolId(DRIVER, "fabric"), seen_from=(gpu,))
    state.set_pool(replace(fabric, devices=(replace(fabric.devices[0], nodes=gpu),)))
    engine, two = Engine(state), claim(request("r", count=2))
    assert engine.decide_somewhere([two]) is None

    state.set_node(Node(NODE.name, {"gpu": "yes"}))
    assert isinstance(engine.allocate_somewhere([two]), Allocation)

    state.remove_node(NODE.name)
    assert engine.decide_somewhere([two]) is None


def test_what_a_node_sees_can_be_had_as_a_value():
    mine = AllocatedClaim(ref=ClaimRef("default", "mine"), results=held("a").results)
    elsewhere = v1("b", name="t", nodes=OnNode("other"), pool=PoolId(DRIVER, "other"))
    state = state_of(v1("a"), elsewhere, claims=[mine])

    seen = state.seen_from(NODE)

    assert seen == replace(seen, pools=tuple(state.pools())[:1], classes=CLASSES, allocated=(mine,))
    assert ClusterState.of(seen).seen_from(NODE) == seen
