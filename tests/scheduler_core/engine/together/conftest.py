"""Builders for groups on small clusters."""

import pytest
from pods_in_turn import Pods

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import best_fit
from scheduler_core.engine.together.decide import decide_together
from scheduler_core.engine.together.values import GroupMember
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.state.testing import ANY, claim


@pytest.fixture
def group():
    """Makes members, each with a claim of its own for the same requests."""

    def make(count, *requests, constraints=(), first=0):
        return [
            GroupMember(
                id=f"m{number}", claims=(claim(*requests, constraints=constraints, name=f"c{number}"),)
            )
            for number in range(first, first + count)
        ]

    return make


@pytest.fixture
def asked():
    """Asks for a group on some pools: one node per pool name, any number of pods on each."""

    def ask(members, *pools, room=None, held=(), minimum=None, nodes=None, **options):
        cluster = Cluster(pools=pools, classes={"any": ANY}, allocated=tuple(held))
        engine = Engine.of(cluster, best_fit())
        known = nodes or [Node(name) for name in sorted({one.id.name for one in pools})]
        return decide_together(engine, members, room or Pods({}), known, minimum=minimum, **options)

    return ask


@pytest.fixture
def where():
    """Tells the nodes of an answer by member."""

    def tell(answer):
        assert isinstance(answer, tuple), answer
        return {placed.member.id: placed.allocation.node for placed in answer}

    return tell
