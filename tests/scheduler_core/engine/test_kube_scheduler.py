"""Minimal files on which the rules of kube-scheduler's allocator (v0.37.2) and ours are read differently.

docs/semantics.md has the classes. A class whose two answers are equal here is decided as upstream; what the
other answers of upstream are is held by tests/hack/test_worlds_upstream.py, which asks it.
"""

import pytest
from random_worlds.answers import ANSWERS
from random_worlds.decided import by, plain, situation
from random_worlds.files import question

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation


def devices(answer):
    if not isinstance(answer, Allocation):
        return answer
    return [[one.device.device for one in results] for results in answer.results.values()]


@pytest.mark.parametrize(("name", "node"), ANSWERS)
def test_engine_and_plain_search_answer_as_decided(name, node):
    claims, cluster = situation(question(name, node))

    assert devices(by(Engine.of(cluster, FIRST_FIT), claims, Node(node))) == ANSWERS[name, node][0]
    assert devices(plain(claims, cluster, Node(node))) == ANSWERS[name, node][0]


@pytest.mark.parametrize("name", ["G2-older-on-two-nodes", "G3-older-counters-per-device"])
def test_the_reason_names_the_generation_that_is_obsolete(name):
    claims, cluster = situation(question(name, "n1"))

    (reason,) = Engine.of(cluster, FIRST_FIT).allocate(claims, Node("n1")).reasons

    assert reason.detail == (
        "pool a.b/p0 is changing: generation 2 has no slice for node n1, and that of generation 1 is obsolete"
    )
