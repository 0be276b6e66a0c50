"""Why not another node: what it would have cost, and whether the policy compared it at all."""

from dataclasses import replace

from scheduler_core.comparison import elsewhere
from scheduler_core.comparison.elsewhere import Elsewhere, compare_elsewhere
from scheduler_core.comparison.other_nodes import compare_nodes
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT
from scheduler_core.engine.policy.scarcity_price import ScarcityPrice
from scheduler_core.model.claim import Request
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.state.testing import ANY, DRIVER, claim, device, held, pool, request
from tangram.pictures.weighing import elsewhere_picture

FULLER = tuple("abcdefgh")


def size(number):
    return f"device.attributes['{DRIVER}'].size == {number}"


def part(board, first, number):
    """A part of some memory slices of a board: it matters which."""
    slices = {f"slice{place}": 1 for place in range(first, first + number)}
    return device(f"{board}-{number}-{first}", sources=[board], attributes={"size": number}, **slices)


def board(name):
    yield device(name, attributes={"size": 4}, **{f"slice{place}": 1 for place in range(4)})
    yield from (part(name, first, 1) for first in range(4))
    yield from (part(name, 0, 2), part(name, 2, 2))


def cluster(fuller):
    """Nodes with half a board left, and one with an unused board beside one that has an odd slice left."""
    pools = [pool(*board("b0"), node=name) for name in fuller]
    pools.append(pool(*board("b0"), *board("b1"), node="last"))
    taken = [held("b0-2-0", by=name, pool_name=name) for name in fuller]
    taken.append(held("b0-1-0", "b0-2-2", by="last", pool_name="last"))
    return Cluster(pools=tuple(pools), classes={ANY.name: ANY}, allocated=tuple(taken))


def compared(asked, fuller=FULLER):
    known = cluster(fuller)
    engine = Engine.of(known, BEST_FIT)
    answer = engine.decide_somewhere([asked])
    nodes = {node.name for node in engine.compared_nodes([asked])}
    others = [engine.allocate([asked], Node(name)) for name in (*fuller, "last") if name != answer.node]
    return answer, compare_nodes(answer, others, [asked], known, nodes)


def sentence(one):
    (text,) = elsewhere_picture(Elsewhere((one,))).renderables
    return str(text.text)


def test_a_cheaper_node_that_was_not_compared_is_told_as_such():
    answer, others = compared(claim(request("r", size(1))))

    assert answer.node == "a"
    assert [one.is_compared for one in others] == [True] * 7 + [False]
    assert [one.extra for one in others[:7]] == [0.0] * 7
    assert others[7].extra < 0
    assert sentence(others[7]).endswith("; not compared, other nodes have fewer unused devices")
    assert sentence(others[0]) == "not node b: would leave as much"


def test_a_node_that_gives_a_lesser_alternative_is_told_as_such():
    (large,), (small,) = (request("r", size(number)).alternatives for number in (4, 1))
    options = (replace(large, name="r/large"), replace(small, name="r/small"))

    answer, others = compared(claim(Request(name="r", alternatives=options)), FULLER[:2])

    assert answer.node == "last"
    assert [one.yields for one in others] == [True, True]
    assert sentence(others[0]) == "not node a: gives a less preferred alternative"


def test_a_node_on_which_the_claims_do_not_fit_is_told_with_the_reason():
    answer, others = compared(claim(request("r", size(4))))

    assert answer.node == "last"
    assert all(one.refused is not None and not one.is_compared for one in others)
    assert sentence(others[0]).startswith("not node a: does not fit: ")


def all_others(asked, fuller=FULLER):
    known = cluster(fuller)
    engine = Engine.of(known, BEST_FIT)
    answer = engine.decide_somewhere([asked])
    nodes = [Node(name) for name in (*fuller, "last")]
    return answer, compare_elsewhere(answer, [asked], engine, nodes, lambda _: known)


def test_all_other_nodes_are_compared_and_those_alike_only_once():
    answer, found = all_others(claim(request("r", size(1))))

    assert (answer.node, found.rest) == ("a", ())
    assert [(one.node, one.alike) for one in found.nodes] == [("b", tuple("cdefgh")), ("last", ())]
    told = [str(one.text) for one in elsewhere_picture(found).renderables]
    assert told[0] == "not 7 nodes (b, c, d and 4 more): would leave as much"


def test_each_group_has_the_answer_that_each_of_its_nodes_has():
    asked = claim(request("r", size(1)))
    _, one_by_one = compared(asked)
    _, found = all_others(asked)

    expanded = [replace(one, node=name, alike=()) for one in found.nodes for name in (one.node, *one.alike)]
    assert sorted(expanded, key=str) == sorted(one_by_one, key=str)


def test_refusals_past_the_bound_are_counted_and_not_explained(monkeypatch):
    monkeypatch.setattr(elsewhere, "_EXPLAINED", 0)

    _, found = all_others(claim(request("r", size(4))))

    assert (found.nodes, found.rest) == ((), FULLER)
    told = [str(one.text) for one in elsewhere_picture(found).renderables]
    assert told == ["not 8 nodes (a, b, c and 5 more): the claims do not fit there either"]


def test_unused_components_add_to_the_price_of_their_node(monkeypatch):
    asked = claim(request("r", size(1)))
    assert compared(asked, FULLER[:2])[0].node == "last"

    monkeypatch.setattr(ScarcityPrice, "unused_price", 10.0)

    assert compared(asked, FULLER[:2])[0].node == "a"
