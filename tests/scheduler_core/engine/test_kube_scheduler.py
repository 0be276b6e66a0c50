"""Minimal files on which the rules of kube-scheduler's allocator (v0.37.2) and ours are read differently.

docs/semantics.md has the classes. A class whose two answers are equal here is decided as upstream; what the
other answers of upstream are is held by tests/hack/test_worlds_upstream.py, which asks it.
"""

import pytest
from random_worlds.decided import by, plain, situation
from random_worlds.files import question

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation

# Per file and node the devices of each claim, None if they do not fit: ours, then upstream's.
# "error": upstream gives the whole pod up, on all nodes.
ANSWERS = {
    ("A1-admin-counters", "n1"): ([["d0"]], None),
    ("A2-admin-then-ordinary", "n1"): ([["d0"], ["d0"]], None),
    ("A3-admin-shareable", "n1"): ([["d0", "d0"]], [["d0", "d0"]]),
    ("A4-admin-full-shareable", "n1"): ([["d0"]], None),
    ("B-pool-order", "n1"): ([["d0"]], [["d0"]]),
    ("B-pool-order-one-slice", "node-a"): ([["near"]], [["other"]]),
    ("C-capacity-key", "n1"): ([["d0"]], None),
    ("C2-capacity-key-reverse", "n1"): ([["d0"]], None),
    ("D-name-twice-other-nodes", "n1"): (None, [["d1"]]),
    ("E1-all-updating-alternative", "n1"): ([["d0"]], "error"),
    ("E1-all-updating-two-nodes", "n1"): (None, "error"),
    ("E1-all-updating-two-nodes", "n2"): ([["d0"]], [["d0"]]),
    ("E2-all-constraint-alternative", "n1"): ([["d0"]], "error"),
    ("E2-all-constraint-two-nodes", "n1"): (None, "error"),
    ("E2-all-constraint-two-nodes", "n2"): ([["d0", "d1"]], [["d0", "d1"]]),
    ("E3-all-invalid-two-nodes", "n1"): (None, "error"),
    ("G1-newer-per-device-elsewhere", "n1"): ([["d0"]], [["d0"]]),
    ("G1-newer-per-device-elsewhere", "n2"): ([["d0"]], [["d0"]]),
    ("G2-older-on-two-nodes", "n1"): (None, None),
    ("G3-older-counters-per-device", "n1"): (None, None),
    ("G4-all-other-nodes-pool-updating", "n1"): ([["d0"]], [["d0"]]),
    ("G4-all-other-nodes-pool-updating", "n2"): (None, "error"),
    ("S1-selector-other-node", "n1"): ([["d1"]], "error"),
    ("S2-selector-all-alternative", "n1"): ([["d0"]], "error"),
    ("S3-selector-not-tried", "n1"): (None, "error"),
    ("S4-selector-in-use", "n1"): ([["d1"]], [["d1"]]),
    ("S4-selector-in-use-same-pod", "n1"): ([["d0", "d1"]], [["d0", "d1"]]),
}


def devices(answer):
    if not isinstance(answer, Allocation):
        return answer
    return [[one.device.device for one in results] for results in answer.results.values()]


@pytest.mark.parametrize(("name", "node"), ANSWERS)
def test_engine_and_plain_search_answer_as_decided(name, node):
    claims, cluster = situation(question(name, node))

    assert devices(by(Engine.of(cluster, FIRST_FIT), claims, Node(node))) == ANSWERS[name, node][0]
    assert devices(plain(claims, cluster, Node(node))) == ANSWERS[name, node][0]
