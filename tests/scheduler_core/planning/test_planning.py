"""What-if questions, against oracles that try everything."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cut_boards import clusters, fewest_to_end, fits, in_rack_a, most_parts, node_pool, nodes_of, wants
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, DeviceRequest, Request
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.ownership import CONTROLLER, OWNER
from scheduler_core.model.result import Undecided
from scheduler_core.model.taints import Effect, Taint
from scheduler_core.planning.freeing import freeings
from scheduler_core.planning.kinds import EVERY_DEVICE, kinds_of
from scheduler_core.planning.offered import as_owner_sees
from scheduler_core.planning.plan import Where, Workload, plan
from scheduler_core.planning.room import room_for
from scheduler_core.planning.trial_changes import TrialChanges
from scheduler_core.state.testing import ANY, DRIVER, claim, device, held, pool


@settings(max_examples=40)
@given(clusters(), st.sampled_from((1, 2, 3, 4)))
def test_the_room_for_parts_is_the_most_that_any_set_of_parts_has(cluster, wanted):
    found = room_for(Engine.of(cluster, BEST_FIT), [wants(wanted)], nodes_of(cluster))

    expected = [most_parts(cluster, node, wanted) for node in nodes_of(cluster)]
    assert [one.count for one in found.nodes] == expected
    assert (found.count, found.is_exact) == (sum(expected), True)


@pytest.mark.parametrize("policy", [FIRST_FIT, BEST_FIT])
def test_the_room_is_the_same_under_either_policy_where_the_first_places_are_bad_ones(policy):
    """First-fit gives a small part the place that both halves would need."""
    cluster = Cluster(pools=(node_pool("n1", 2),), classes={"any": ANY})

    found = room_for(Engine.of(cluster, policy), [wants(1, 3, together=True)], nodes_of(cluster))

    assert found.count == 2


def test_equal_nodes_have_equal_room_and_a_used_one_less():
    pools = tuple(node_pool(f"n{number}", 1) for number in (1, 2, 3))
    cluster = Cluster(pools=pools, classes={"any": ANY}, allocated=(held("b0-1-at-0", pool_name="n2"),))

    found = room_for(Engine.of(cluster, BEST_FIT), [wants(2)], nodes_of(cluster))

    assert [(one.node, one.count) for one in found.nodes] == [("n1", 2), ("n2", 1), ("n3", 2)]


@settings(max_examples=40)
@given(clusters(), st.sampled_from([(4,), (3,), (2, 2), (1, 3), (4, 4), (2, 1, 1)]), st.booleans())
def test_the_fewest_claims_end_and_then_the_wanted_ones_fit(cluster, sizes, together):
    claims = [wants(*sizes, together=together and sum(sizes) <= 4)]

    found = freeings(Engine.of(cluster, FIRST_FIT), claims, nodes_of(cluster))

    expected = {
        node.name: least
        for node in nodes_of(cluster)
        if (least := fewest_to_end(cluster, node, claims)) is not None
    }
    told = {name: len(one.ending.ended) for one in found.options for name in (one.ending.node, *one.alike)}
    assert told == expected
    assert found.is_complete
    assert list(told.values()) == sorted(told.values())
    for one in found.options:
        (node,) = (node for node in nodes_of(cluster) if node.name == one.ending.node)
        assert fits(cluster, node, claims, {ended.ref for ended in one.ending.ended})


def full_of_small_parts(*nodes):
    allocated = [
        held(f"b0-1-at-{place}", by=f"{node}-{place}", pool_name=node) for node in nodes for place in range(4)
    ]
    pools = tuple(node_pool(node, 1) for node in nodes)
    return Cluster(pools=pools, classes={"any": ANY}, allocated=tuple(allocated))


def test_at_the_bound_an_answer_is_right_and_says_that_fewer_claims_may_do():
    cluster = full_of_small_parts("n1")

    found = freeings(Engine.of(cluster, BEST_FIT), [wants(2)], nodes_of(cluster), questions=6)

    assert not found.is_complete
    for one in found.options:
        assert not one.ending.is_fewest
        assert fits(cluster, nodes_of(cluster)[0], [wants(2)], {ended.ref for ended in one.ending.ended})


def a_full_node_and_room_for_parts(third):
    """Small parts fill n1; each of two boards of n3 has two places left beside a claim that stays."""
    full = full_of_small_parts("n1")
    stay = tuple(held(f"b{board}-2-at-0", by=f"stays-{board}", pool_name="n3") for board in range(2))
    cluster = replace(full, pools=(*full.pools, third), allocated=(*full.allocated, *stay))
    specs = {one.ref: replace(wants(1), ref=one.ref) for one in full.allocated}
    return cluster, specs, {one.ref for one in stay}


def test_an_ended_claim_moves_where_it_fits_beside_the_wanted_one():
    cluster, specs, kept = a_full_node_and_room_for_parts(node_pool("n3", 2))

    found = freeings(Engine.of(cluster, BEST_FIT), [wants(4)], nodes_of(cluster), kept=kept, specs=specs)

    (option,) = found.options
    assert option.moves == dict.fromkeys(specs, "n3")


@pytest.mark.parametrize(("rack", "moves"), [("a", True), ("b", False)])
def test_an_ended_claim_moves_to_a_node_that_a_pool_selects_by_its_label(rack, moves):
    cluster, specs, kept = a_full_node_and_room_for_parts(in_rack_a(node_pool("n3", 2)))
    nodes = [Node("n1"), Node("n3", {"rack": rack})]

    found = freeings(Engine.of(cluster, BEST_FIT), [wants(4)], nodes, kept=kept, specs=specs)

    (option,) = found.options
    assert option.moves == (dict.fromkeys(specs, "n3") if moves else {})


class TiredEngine(Engine):
    """Knows that claims fit, and reaches its bound where it chooses their devices."""

    def decide(self, claims, node):
        return Undecided(node=node.name, steps=1, why="the search for the best devices")


def test_without_a_choice_of_devices_it_is_not_known_where_the_ended_claims_fit():
    cluster, specs, kept = a_full_node_and_room_for_parts(node_pool("n3", 2))

    found = freeings(TiredEngine.of(cluster, BEST_FIT), [wants(4)], nodes_of(cluster), kept=kept, specs=specs)

    (option,) = found.options
    assert ({one.ref for one in option.ending.ended}, option.moves) == (set(specs), {})


def sharing(node, *amounts):
    """A node with one device of ten for all, and the claims that use it."""
    plain = pool(device("link", bw=10), node=node)
    shared = replace(plain, devices=tuple(replace(one, is_shareable=True) for one in plain.devices))
    claims = [
        AllocatedClaim(
            ref=ClaimRef("default", f"{node}-{number}"),
            results=(
                AllocatedDevice(
                    "r",
                    shared.id_of(shared.devices[0]),
                    share_id=f"{node}-{number}",
                    consumed={"bw": Quantity.of(amount)},
                ),
            ),
        )
        for number, amount in enumerate(amounts)
    ]
    return shared, claims


def test_nodes_where_claims_share_a_device_in_other_amounts_are_not_alike():
    """Ten are there, eight in use on each: for seven, the five of n1 must end, but all of n2."""
    (first, on_first), (second, on_second) = sharing("n1", 5, 3), sharing("n2", 4, 4)
    cluster = Cluster(pools=(first, second), classes={"any": ANY}, allocated=(*on_first, *on_second))
    seven = DeviceRequest(name="r", class_name="any", capacity={"bw": Quantity.of(7)})
    wanted = claim(Request(name="r", alternatives=(seven,)), name="wanted")

    found = freeings(Engine.of(cluster, BEST_FIT), [wanted], nodes_of(cluster))

    told = [(one.ending.node, len(one.ending.ended), one.alike) for one in found.options]
    assert told == [("n1", 1, ()), ("n2", 2, ())]


def test_a_copy_takes_no_name_of_a_claim_that_holds_devices_without_a_uid():
    allocated = [held(f"b0-1-at-{number}", by=f"wanted-{number}", pool_name="n1") for number in range(3)]
    cluster = Cluster(pools=(node_pool("n1", 2),), classes={"any": ANY}, allocated=tuple(allocated))
    engine, nodes = Engine.of(cluster, BEST_FIT), nodes_of(cluster)

    for _ in range(2):  # what is held on trial is given back without a loss
        found = plan(
            {"best-fit": engine}, Workload(claims=[wants(1)], count=5), Where(nodes=nodes), "best-fit"
        )
        assert (found.most.count, found.outcomes["best-fit"].placement.placed) == (5, 5)
        assert [engine.state.assignments.get(one.ref) for one in allocated] == allocated


def test_claims_that_must_stay_do_not_end():
    cluster = full_of_small_parts("n1")
    kept = {cluster.allocated[0].ref}

    found = freeings(Engine.of(cluster, BEST_FIT), [wants(2)], nodes_of(cluster), kept=kept)

    (option,) = found.options
    assert {str(one.ref.name) for one in option.ending.ended} == {"n1-2", "n1-3"}


def test_nodes_that_are_alike_are_told_once():
    found = freeings(
        Engine.of(full_of_small_parts("n1", "n2", "n3"), BEST_FIT),
        [wants(4)],
        nodes_of(full_of_small_parts("n1", "n2", "n3")),
    )

    (option,) = found.options
    assert (option.ending.node, option.alike, len(option.ending.ended)) == ("n1", ("n2", "n3"), 4)


def test_a_plan_changes_nothing():
    cluster = full_of_small_parts("n1", "n2")
    engine = Engine.of(cluster, BEST_FIT)
    where = Where(nodes=nodes_of(cluster))

    plan({"best-fit": engine}, Workload(claims=[wants(4)], count=3), where, "best-fit")

    states = [
        one.state for name in ("n1", "n2") for one in engine.state.views.compiled((DRIVER, name)).components
    ]
    again = Engine.of(cluster, BEST_FIT)
    assert states == [
        one.state for name in ("n1", "n2") for one in again.state.views.compiled((DRIVER, name)).components
    ]


def test_a_plan_counts_copies_and_says_what_to_end_for_the_first_that_does_not_fit():
    full = full_of_small_parts("n1")
    cluster = replace(full, pools=(*full.pools, node_pool("n2", 1)))
    engines = {"best-fit": Engine.of(cluster, BEST_FIT), "first-fit": Engine.of(cluster, FIRST_FIT)}

    found = plan(engines, Workload(claims=[wants(2)], count=3), Where(nodes=nodes_of(cluster)), "best-fit")

    assert found.most.count == 2
    assert {name: one.placement.placed for name, one in found.outcomes.items()} == {
        "best-fit": 2,
        "first-fit": 2,
    }
    (option,) = found.freeings.options
    assert (option.ending.node, len(option.ending.ended)) == ("n1", 2)


def test_what_is_held_on_trial_is_given_back_even_after_an_error():
    cluster = full_of_small_parts("n1")
    engine, (node,) = Engine.of(cluster, BEST_FIT), nodes_of(cluster)
    holder = cluster.allocated[0]

    def fail():
        with TrialChanges(engine.state) as trial:
            trial.end(holder)
            trial.hold(wants(1), engine.decide([wants(1)], node))
            assert engine.state.assignments.get(wants(1).ref) is not None
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert engine.state.assignments.get(holder.ref) == holder
    assert engine.state.assignments.get(wants(1).ref) is None


def test_kinds_are_devices_with_equal_values_and_their_claims_get_no_others():
    cluster = Cluster(pools=(node_pool("n1", 1),), classes={EVERY_DEVICE.name: EVERY_DEVICE})
    kinds = kinds_of(cluster.pools, ("kind",))

    assert [one.name for one in kinds] == ["part-1", "part-2", "part-3", "part-4"]
    answer = Engine.of(cluster, FIRST_FIT).decide(
        [kinds[1].claim(ClaimRef("default", "c"), 2)], nodes_of(cluster)[0]
    )
    assert [one.device.device for one in answer.results[ClaimRef("default", "c")]] == [
        "b0-2-at-0",
        "b0-2-at-2",
    ]


def test_devices_of_the_controllers_nodes_count_as_offered():
    ours = Taint(OWNER, CONTROLLER, Effect.NO_SCHEDULE)
    ill = Taint("example.com/ill", "", Effect.NO_SCHEDULE)
    first = node_pool("n1", 1)
    tainted = replace(first, devices=tuple(replace(one, taints=(ours, ill)) for one in first.devices))

    assert {one.taints for one in as_owner_sees(tainted).devices} == {(ill,)}
    assert as_owner_sees(first) is first
