"""The choice among layouts: what is skipped as alike is never better than what is looked at."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.effort import Effort
from scheduler_core.frontends.joint.choose import answers
from scheduler_core.frontends.joint.closeness import compactness, distance
from scheduler_core.frontends.joint.demand import JointDemand, Wanted
from scheduler_core.frontends.joint.nearest_cards import nearest_cards
from scheduler_core.frontends.joint.node_device import NodeDevice, Take

TREES = ["a0", "a0/x", "a0/y", "a0/y/z", "b0", "b0/x", "b0/y", "b0/y/z", "c1", "d1", None]
places = st.lists(st.tuples(st.sampled_from(TREES), st.booleans()), min_size=1, max_size=6)
"""Paths of switches; the last letter of the topmost one is its NUMA node."""


def node_devices(kind, found):
    return tuple(
        NodeDevice(
            kind=kind,
            number=number,
            pcie=None if scope is None else scope[:2],
            switches=() if scope is None else tuple(scope[: end + 1] for end in range(1, len(scope), 2)),
            numa=None if scope is None else int(scope[1]),
            is_touched=not is_free,
            takes=(Take(0, f"{kind}-{number}"),) if is_free else (),
        )
        for number, (scope, is_free) in enumerate(found)
    )


def cost(demand, chosen):
    cards = [nearest_cards(one, chosen, is_same_pcie=demand.is_same_pcie) for one in demand.together]
    if None in cards:
        return None
    return (*distance(chosen, cards), *compactness(chosen, cards, demand.first.used))


@settings(max_examples=300, deadline=None)
@given(places, places, st.integers(1, 4), st.integers(1, 3), st.booleans(), st.booleans())
def test_no_choice_of_units_is_better_than_the_first_answer(gpus, nics, count, least, is_same, grows):
    demand = JointDemand(
        first=Wanted(kind="gpu", devices=node_devices("gpu", gpus), count=count),
        together=(Wanted(kind="rdma", devices=node_devices("rdma", nics), count=least, may_grow=grows),),
        is_same_pcie=is_same,
    )

    found = next(answers(demand, Effort()), None)

    every = [cost(demand, one) for one in combinations(demand.first.usable, count)]
    best = min((one for one in every if one is not None), default=None)
    assert (None if found is None else cost(demand, found[0])) == best
