"""Members of a group get devices together or not at all."""

from dataclasses import replace

import pytest
from pods_in_turn import Pods

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.together.decide import decide_together
from scheduler_core.engine.together.values import GroupMember, Unfit
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim, ExclusiveScope
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.nodes import Matching, Node, OnNode, Operator, Requirement
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.state.testing import ANY, DRIVER, claim, device, held, pool, request

LARGE = f"device.attributes['{DRIVER}'].large"
BOARD = QualifiedName(f"{DRIVER}/board")


def cards(count, node, **attributes):
    return pool(*(device(f"d{number}", attributes=attributes) for number in range(count)), node=node)


def one_of_two_kinds(node="n1"):
    """Two large cards, two small ones; the large ones are listed first."""
    sizes = [True, True, False, False]
    return pool(
        *(device(f"d{number}", attributes={"large": size}) for number, size in enumerate(sizes)), node=node
    )


def test_a_gang_of_four_gets_devices_that_pod_after_pod_does_not_find(group, asked, where):
    members = [*group(2, request("r")), *group(2, request("r", LARGE), first=2)]
    cards = one_of_two_kinds()

    answer = asked(members, cards)

    assert where(answer) == dict.fromkeys(["m0", "m1", "m2", "m3"], "n1")
    assert not fits_pod_after_pod(members, cards)


def fits_pod_after_pod(members, *pools):
    """Whether each member in turn finds devices, as kube-scheduler's first fit does."""
    cluster = Cluster(pools=pools, classes={"any": ANY})
    for member in members:
        found = allocate(member.claims, cluster, Node("n1"))
        if not isinstance(found, Allocation):
            return False
        given = tuple(AllocatedClaim(ref=ref, results=results) for ref, results in found.results.items())
        cluster = replace(cluster, allocated=(*cluster.allocated, *given))
    return True


def test_a_member_goes_to_a_worse_node_where_another_member_needs_the_better_one(group, asked, where):
    members = [*group(1, request("r")), *group(1, request("r", LARGE), first=1)]

    answer = asked(members, cards(1, "n1", large=True), cards(1, "n2", large=False))

    assert where(answer) == {"m0": "n2", "m1": "n1"}


def test_members_on_equal_nodes_get_a_node_each(group, asked, where):
    answer = asked(group(2, request("r")), cards(1, "n1"), cards(1, "n2"))

    assert set(where(answer).values()) == {"n1", "n2"}


def test_a_node_that_the_policy_prefers_is_left_to_the_member_that_needs_it(group, asked, where):
    card = f"device.attributes['{DRIVER}'].card"
    looks = {"card": True, "large": False}
    dear = pool(
        device("whole", attributes=looks, m=2),
        device("part", sources=["whole"], attributes={"card": False, "large": False}, m=1),
        node="n1",
    )
    cheap = pool(device("d", attributes={"card": True, "large": True}), node="n2")
    picky = group(1, request("r", LARGE), first=1)

    assert where(asked(group(1, request("r", card)), dear, cheap)) == {"m0": "n2"}
    assert where(asked([*group(1, request("r", card)), *picky], dear, cheap)) == {"m0": "n1", "m1": "n2"}


def test_a_mixture_that_is_largest_in_no_order_of_the_members_is_found(group, asked, where):
    members = [*group(6, request("r")), *group(2, request("r", count=2), first=6)]

    answer = asked(members, cards(5, "n1"), cards(5, "n2"), room=Pods({"n1": 4, "n2": 4}))

    assert where(answer)["m6"] != where(answer)["m7"]


def test_one_member_too_many_leaves_all_without_devices(group, asked):
    answer = asked(group(4, request("r")), cards(2, "n1"), cards(1, "n2"))

    assert isinstance(answer, Unfit)
    assert str(answer) == "of 4 members 4 are needed, and so many do not fit at once"


def test_members_that_fit_on_no_node_are_named(group, asked):
    members = [*group(1, request("r")), *group(1, request("r", count=3), first=1)]

    answer = asked(members, cards(2, "n1"), cards(2, "n2"))

    assert [member.id for member in answer.nowhere] == ["m1"]
    assert str(answer) == "of 2 members 2 are needed, and no node fits m1"


def test_no_device_is_given_twice_and_none_that_is_held(group, asked):
    answer = asked(group(3, request("r")), cards(2, "n1"), cards(3, "n2"), held=[held("d0", pool_name="n1")])

    given = [
        result.device for placed in answer for one in placed.allocation.results.values() for result in one
    ]
    assert len(set(given)) == 3
    assert not any(one.pool == "n1" and one.device == "d0" for one in given)


def test_the_group_uses_few_nodes(group, asked, where):
    answer = asked(group(4, request("r")), cards(2, "n1"), cards(3, "n2"), cards(4, "n3"))

    assert set(where(answer).values()) == {"n3"}


def test_of_nodes_that_hold_all_the_policy_chooses(group, asked, where):
    parts = [device("whole", m=4), *(device(f"p{number}", sources=["whole"], m=1) for number in range(4))]
    small = f"device.capacity['{DRIVER}'].m.compareTo(quantity('1')) == 0"

    answer = asked(
        group(2, request("r", small)),
        pool(*parts, node="n1"),
        pool(*parts, node="n2"),
        held=[held("p0", pool_name="n2")],
    )

    assert set(where(answer).values()) == {"n2"}


def test_room_counts_while_nodes_are_chosen(group, asked, where):
    answer = asked(group(3, request("r")), cards(8, "n1"), cards(8, "n2"), room=Pods({"n1": 1, "n2": 2}))

    assert sorted(where(answer).values()) == ["n1", "n2", "n2"]


def test_a_member_without_claims_needs_only_room(group, asked, where):
    launcher = GroupMember(id="launcher")

    answer = asked(
        [*group(1, request("r")), launcher],
        cards(1, "n1"),
        nodes=[Node("n1"), Node("n2")],
        room=Pods({"n1": 1}),
    )

    assert where(answer) == {"m0": "n1", "launcher": "n2"}
    assert answer[1].allocation.results == {}


def test_a_group_without_members_is_placed(asked):
    assert asked([], cards(1, "n1")) == ()


def test_members_that_share_a_claim_are_on_one_node_and_the_claim_counts_once(asked, where):
    shared = claim(request("r"), name="shared")
    members = [GroupMember(id="a", claims=(shared,)), GroupMember(id="b", claims=(shared,))]

    answer = asked(members, cards(1, "n1"), cards(1, "n2"))

    assert len(set(where(answer).values())) == 1
    assert answer[0].allocation == answer[1].allocation


def test_members_that_share_a_claim_over_others_are_on_one_node(asked, where):
    first, second = (claim(request("r"), name=name) for name in ("first", "second"))
    chain = [GroupMember(id="a", claims=(first,)), GroupMember(id="b", claims=(second,))]
    chain.append(GroupMember(id="c", claims=(first, second)))

    assert isinstance(asked(chain, cards(1, "n1"), cards(1, "n2")), Unfit)
    assert set(where(asked(chain, cards(1, "n1"), cards(2, "n2"))).values()) == {"n2"}


def linked(name, zone, *devices):
    """A pool of devices that all nodes of a zone can use."""
    found = pool(*(device(one) for one in devices), node=name)
    nodes = Matching((Requirement("zone", Operator.IN, (zone,)),))
    return replace(
        found, devices=tuple(replace(one, nodes=nodes) for one in found.devices), seen_from=(nodes,)
    )


ZONED = [Node("n1", {"zone": "a"}), Node("n2", {"zone": "a"}), Node("n3", {"zone": "b"})]


def test_members_that_share_a_claim_are_on_several_nodes_where_its_device_can_be_used_there(asked, where):
    shared = claim(request("r"), name="shared")
    members = [GroupMember(id=str(number), claims=(shared,)) for number in range(2)]

    answer = asked(
        members,
        linked("a", "b", "y"),
        linked("b", "a", "x"),
        nodes=ZONED,
        room=Pods({"n1": 1, "n2": 1, "n3": 1}),
    )

    assert where(answer) == {"0": "n1", "1": "n2"}
    assert [result.device.device for result in answer[0].allocation.results[shared.ref]] == ["x"]
    assert answer[0].allocation.nodes[shared.ref].requirements[0].values == ("a",)


def test_a_claim_of_members_on_two_nodes_gets_no_device_of_one_of_them(asked):
    shared = claim(request("r"), name="shared")
    members = [GroupMember(id=str(number), claims=(shared,)) for number in range(2)]
    alone = Pods({"n1": 1, "n2": 1, "n3": 1})

    answer = asked(members, cards(1, "n1"), linked("z", "a", "x"), nodes=ZONED, room=alone)

    assert [result.device.device for result in answer[0].allocation.results[shared.ref]] == ["x"]


def test_a_claim_for_all_devices_is_not_split_between_nodes(asked):
    everything = claim(request("r", count=None), name="all")
    members = [GroupMember(id=str(number), claims=(everything,)) for number in range(2)]
    alone = Pods({"n1": 1, "n2": 1, "n3": 0})
    common = linked("z", "a", "x")

    assert isinstance(asked(members, common, nodes=ZONED, room=alone), tuple)
    assert isinstance(asked(members, cards(1, "n1"), common, nodes=ZONED, room=alone), Unfit)


def test_where_nodes_share_devices_members_may_go_to_any_node_in_any_order(group, asked, where):
    sizes = [pool(device("d", attributes={"large": one == "n2"}), node=one) for one in ("n1", "n2")]
    other = linked("z", "b", "x")
    other = replace(
        other, devices=tuple(replace(one, attributes=sizes[0].devices[0].attributes) for one in other.devices)
    )
    members = [*group(1, request("r", LARGE)), *group(1, request("r"), first=1)]

    answer = asked(members, *sizes, other, nodes=ZONED, room=Pods({"n2": 1, "n3": 0}))

    assert where(answer) == {"m0": "n2", "m1": "n1"}


def test_where_nodes_share_devices_a_minimum_is_enough(group, asked, where):
    answer = asked(group(5, request("r")), linked("z", "a", "x", "y", "z"), nodes=ZONED, minimum=1)

    assert list(where(answer)) == ["m0", "m1", "m2"]


def test_members_on_two_nodes_do_not_get_one_device_that_both_nodes_may_use(group, asked):
    alone = Pods({"n1": 1, "n2": 1, "n3": 1})

    assert isinstance(asked(group(2, request("r")), linked("p", "a", "x"), nodes=ZONED, room=alone), Unfit)
    answer = asked(group(2, request("r")), linked("p", "a", "x", "y"), nodes=ZONED, room=alone)
    assert len({str(placed.allocation.results) for placed in answer}) == 2


def test_members_keep_each_other_out_of_scopes_that_they_have_for_themselves(group, asked, where):
    boards = [device(f"d{number}", attributes={"board": number // 2}) for number in range(4)]
    members = group(2, request("r"), constraints=(ExclusiveScope((BOARD,)),))

    answer = asked(members, pool(*boards, node="n1"))

    taken = {result.device.device for placed in answer for (result,) in placed.allocation.results.values()}
    assert taken in ({"d0", "d2"}, {"d0", "d3"}, {"d1", "d2"}, {"d1", "d3"})
    assert isinstance(
        asked(group(2, request("r"), constraints=(ExclusiveScope((BOARD,)),)), pool(*boards[:2], node="n1")),
        Unfit,
    )


def test_members_that_keep_each_other_out_of_a_node_are_spread(group, asked, where):
    boards = [device(f"d{number}", attributes={"board": 0}) for number in range(2)]
    members = group(2, request("r"), constraints=(ExclusiveScope((BOARD,)),))

    answer = asked(members, pool(*boards, node="n1"), pool(*boards, node="n2"))

    assert set(where(answer).values()) == {"n1", "n2"}


def test_with_a_minimum_as_many_as_fit_are_placed_the_first_of_equal_ones(group, asked, where):
    answer = asked(group(5, request("r")), cards(2, "n1"), cards(1, "n2"), minimum=2)

    assert list(where(answer)) == ["m0", "m1", "m2"]


def test_a_member_that_fits_nowhere_is_left_out_where_the_minimum_allows_it(group, asked, where):
    members = [*group(1, request("r", count=3)), *group(2, request("r"), first=1)]

    assert list(where(asked(members, cards(2, "n1"), minimum=2))) == ["m1", "m2"]
    assert isinstance(asked(members, cards(2, "n1"), minimum=3), Unfit)


def test_members_that_share_a_claim_are_left_out_together(group, asked, where):
    shared = claim(request("r", count=2), name="shared")
    pair = [GroupMember(id=name, claims=(shared,)) for name in ("a", "b")]

    assert list(where(asked([*pair, *group(1, request("r"))], cards(1, "n1"), minimum=1))) == ["m0"]


def test_a_minimum_beyond_the_group_is_refused(group, asked):
    with pytest.raises(ValueError, match="minimum is 3, and the group has 2 members"):
        asked(group(2, request("r")), cards(2, "n1"), minimum=3)


def test_too_many_steps_are_told_and_mean_neither_yes_nor_no(group, asked):
    answer = asked(group(4, request("r")), cards(2, "n1"), cards(1, "n2"), most=1)

    assert isinstance(answer, Undecided)
    assert str(answer) == "undecided on 2 nodes after 1 steps: the search over nodes reached its bound"


def test_a_bound_that_all_members_reach_does_not_keep_the_minimum_from_being_found(group, asked):
    steps = next(
        most
        for most in range(1, 200)
        if isinstance(asked(group(2, request("r")), cards(2, "n1"), most=most), tuple)
    )

    answer = asked(group(2, request("r")), cards(2, "n1"), minimum=1, most=4 * steps)

    assert len(answer) == 2


@pytest.mark.parametrize("count", [2, 3])
def test_neither_devices_nor_room_are_held_afterwards(group, count):
    engine = Engine.of(Cluster(pools=(cards(2, "n1"),), classes={"any": ANY}))
    before, room = engine.state.seen_from(Node("n1")), Pods({"n1": 9})

    decide_together(engine, group(count, request("r")), room)

    assert engine.state.seen_from(Node("n1")) == before
    assert +room.taken == {}


def test_devices_of_two_nodes_that_draw_from_one_counter_are_not_given_to_two_members(group, asked):
    """Each device is of one node by name; the pool's counter has enough for one of them."""
    published = pool(device("whole", m=1), *(device(f"d{n}", sources=["whole"], m=1) for n in (1, 2)))
    parts = [one for one in published.devices if one.parents]  # a v1 pool lists no device for its counters
    nodes = [OnNode("n1"), OnNode("n2")]
    published = replace(
        published,
        devices=tuple(replace(one, parents=(), nodes=where) for one, where in zip(parts, nodes, strict=True)),
        seen_from=tuple(nodes),
    )

    both = [Node("n1"), Node("n2")]
    assert isinstance(asked(group(2, request("r")), published, nodes=both), Unfit)
    assert not isinstance(asked(group(1, request("r")), published, nodes=both), Unfit)
