"""One question about a cluster given as a value: the answers of the plain search, with the ids of shares."""

from itertools import count
from random import Random

from hypothesis import given
from random_clusters import NODES, situation_of
from searched_nodes import SEEDS, SETTINGS

from scheduler_core.base.errors import CoreError
from scheduler_core.engine import once
from scheduler_core.explain import allocate as plain
from scheduler_core.model.result import Allocation, Undecided


def outcome(function, situation, where, **more):
    """The answer, or the error as text."""
    try:
        return function(situation.claims, situation.cluster(), where, **more)
    except CoreError as error:
        return str(error)


@SETTINGS
@given(SEEDS)
def test_one_question_gets_the_answer_of_the_plain_search(seed):
    situation, node = situation_of(Random(seed)), NODES[seed % 2]

    expected = outcome(plain.allocate, situation, node)

    if not isinstance(expected, Undecided):  # the plain search takes more steps
        assert outcome(once.allocate, situation, node) == expected


@SETTINGS
@given(SEEDS)
def test_of_several_nodes_the_first_that_fits_answers(seed):
    situation = situation_of(Random(seed))
    fitting = outcome(plain.feasible_nodes, situation, NODES)
    if getattr(fitting, "undecided", ()):
        return

    assert outcome(once.feasible_nodes, situation, NODES) == fitting
    expected = outcome(plain.allocate_somewhere, situation, NODES)
    assert outcome(once.allocate_somewhere, situation, NODES) == expected


@SETTINGS
@given(SEEDS)
def test_every_share_of_a_device_gets_the_next_id_and_nothing_else_gets_one(seed):
    situation, node, ids = situation_of(Random(seed)), NODES[seed % 2], count()

    found = outcome(once.allocate, situation, node, share_ids=lambda: f"id-{next(ids)}")

    if not isinstance(found, Allocation):
        return
    shareable = {pool.id_of(one) for pool in situation.pools for one in pool.devices if one.is_shareable}
    given_out = [one for results in found.results.values() for one in results]
    shares = [one for one in given_out if one.device in shareable and not one.admin_access]
    assert [one.share_id for one in shares] == [f"id-{number}" for number in range(len(shares))]
    assert all(one.share_id is None for one in given_out if one not in shares)
