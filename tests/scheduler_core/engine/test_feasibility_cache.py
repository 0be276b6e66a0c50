"""The feasibility cache: what it remembers is what asking anew gives, whatever was taken or given back."""

from hypothesis import given, settings
from hypothesis import strategies as st
from nodes_in_tables import compiled, node_views_of

from scheduler_core.engine.feasibility_cache import FeasibilityCache
from scheduler_core.engine.solve.coverage import Covered
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided
from scheduler_core.state.testing import claim, device, pool, request

NAMES = ("n0", "n1", "n2")
NODES = [Node(name) for name in NAMES]
MOVES = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 2)), max_size=8)
COUNTED = [(claim(request("r", count=count)),) for count in (1, 2, 3)]
ALL_DEVICES = (claim(request("r", count=None)),)


class Asked:
    """Judges nodes: by the plan where there is one, else a node fits where nothing is taken. Counts that."""

    def __init__(self, may_keep):
        self.may_keep, self.times = may_keep, 0

    def __call__(self, claims, compiled_claim, node_view):
        match compiled_claim.coverage(node_view):
            case Covered(plan):
                return plan.fits(node_view.components), True
        self.times += 1
        if node_view.node.name == "undecided":
            return Undecided(node="undecided", steps=1, why="the search gave up"), True
        return not any(one.state for one in node_view.components), self.may_keep


def setting(*, may_keep=True):
    """Three nodes of three devices, and a cache that knows them."""
    node_views = node_views_of([pool(*map(device, ("d0", "d1", "d2")), node=name) for name in NAMES])
    asked = Asked(may_keep)
    return node_views, FeasibilityCache(node_views, asked), asked


def move(node_views, cache, name, position):
    """Take a device that is free, or give it back, and tell the cache."""
    component = node_views.node_view(Node(name)).components[position]
    component.state ^= 1
    (cache.taken if component.state else cache.given)([name])


@settings(max_examples=150)
@given(MOVES)
def test_what_is_remembered_is_what_asking_anew_gives(moves):
    node_views, cache, asked = setting()
    questions = [(claims, compiled(*claims)) for claims in (*COUNTED, ALL_DEVICES)]

    for name, position in [(NAMES[0], 0), *moves]:
        move(node_views, cache, name, position)
        for claims, compiled_claim in questions:
            fresh = FeasibilityCache(node_views, asked)
            expected = fresh.feasible(claims, compiled_claim, NODES, [])
            assert cache.feasible(claims, compiled_claim, NODES, []) == expected
            assert tuple(cache.known(claims, compiled_claim, [])) == expected
            assert [cache.fits(claims, compiled_claim, node) for node in NODES] == [
                name in expected for name in NAMES
            ]


@given(st.sampled_from(NAMES))
def test_only_what_a_change_may_have_changed_is_asked_again(name):
    node_views, cache, asked = setting()
    compiled_claim = compiled(*ALL_DEVICES)
    cache.feasible(ALL_DEVICES, compiled_claim, NODES, [])
    cache.given([name])
    cache.feasible(ALL_DEVICES, compiled_claim, NODES, [])
    assert asked.times == len(NODES)

    move(node_views, cache, name, 0)
    cache.feasible(ALL_DEVICES, compiled_claim, NODES, [])
    assert asked.times == len(NODES) + 1

    cache.taken([name])
    cache.feasible(ALL_DEVICES, compiled_claim, NODES, [])
    assert asked.times == len(NODES) + 1

    cache.changed([name])
    cache.feasible(ALL_DEVICES, compiled_claim, NODES, [])
    assert asked.times == len(NODES) + 2


def test_an_answer_that_must_not_be_kept_is_asked_each_time():
    _, cache, asked = setting(may_keep=False)
    compiled_claim = compiled(*ALL_DEVICES)

    for times in (1, 2):
        cache.feasible(ALL_DEVICES, compiled_claim, NODES, [])
        assert asked.times == times * len(NODES)


def test_a_forgotten_claim_is_asked_again_and_others_are_not():
    _, cache, asked = setting()
    one, other = compiled(*ALL_DEVICES), compiled(*ALL_DEVICES)
    for compiled_claim in (one, other):
        cache.feasible(ALL_DEVICES, compiled_claim, NODES, [])

    cache.forget(one)
    for compiled_claim in (one, other):
        cache.feasible(ALL_DEVICES, compiled_claim, NODES, [])
    assert asked.times == 3 * len(NODES)

    cache.forget()
    cache.feasible(ALL_DEVICES, other, NODES, [])
    assert asked.times == 4 * len(NODES)


def test_a_node_without_a_pool_fits_nothing_that_needs_a_device():
    _, cache, _ = setting()

    assert not cache.fits(COUNTED[0], compiled(*COUNTED[0]), Node("elsewhere"))


def test_an_undecided_node_is_told_and_asked_again():
    node_views = node_views_of([pool(device("d"), node="undecided")])
    asked, node = Asked(may_keep=True), Node("undecided")
    cache, compiled_claim = FeasibilityCache(node_views, asked), compiled(*ALL_DEVICES)

    for times in (1, 2, 3):
        undecided = []
        assert cache.feasible(ALL_DEVICES, compiled_claim, [node], undecided) == ()
        assert [one.node for one in undecided] == [node.name]
        assert asked.times == times
