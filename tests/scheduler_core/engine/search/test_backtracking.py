"""The backtracking search: the first answer that trying everything in listed order finds."""

from hypothesis import given
from searched_nodes import SEEDS, SETTINGS, settled

from scheduler_core.base.effort import Effort, EffortExceeded
from scheduler_core.engine.search.backtracking import BacktrackingSearch


def search_of(found, effort, may_fit=None):
    """A search for the claims of ``found``; ``may_fit`` None asks the relaxed claims."""
    return BacktrackingSearch(
        found.space,
        found.rules,
        found.assignment(),
        is_complete=True,
        is_fixed=found.node_view.judges,
        effort=effort,
        may_fit=may_fit or (lambda first, states: found.compiled.may_fit(found.node_view, first, states)),
        fail=lambda option, device: None,
        values=found.prepared.values,
        keys=found.keys,
    )


@SETTINGS
@given(SEEDS)
def test_the_answer_is_the_first_one_that_trying_everything_finds(seed):
    found = settled(seed)
    if found is None or found.has_answer(found.assignment()) is None:
        return

    answer = search_of(found, Effort()).first()

    assert answer == next(found.answers(found.assignment()), None)


@SETTINGS
@given(SEEDS)
def test_whether_relaxed_claims_are_asked_changes_no_answer(seed):
    found = settled(seed)
    if found is None:
        return

    answers = [search_of(found, Effort(), may_fit).first() for may_fit in (None, lambda first, states: True)]

    assert answers[0] == answers[1]


@SETTINGS
@given(SEEDS)
def test_a_search_that_may_take_fewer_steps_than_it_needs_gives_up(seed):
    found, effort = settled(seed), Effort()
    if found is None:
        return
    answer = search_of(found, effort).first()
    if not effort.steps:
        return

    outcomes = []
    for most in (effort.steps, effort.steps - 1):
        try:
            outcomes.append(search_of(found, Effort(most=most)).first())
        except EffortExceeded as exceeded:
            outcomes.append(exceeded.limit)

    assert outcomes == [answer, effort.steps - 1]
