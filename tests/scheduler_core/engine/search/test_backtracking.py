"""The backtracking search: the first answer that trying everything in listed order finds."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from searched_nodes import SEEDS, SETTINGS, questioned, settled

from scheduler_core.base.effort import Effort, EffortExceeded
from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.search.backtracking import BacktrackingSearch
from scheduler_core.engine.search.options import Picked
from scheduler_core.model.claim import Request, SameScope
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import DRIVER, claim, device, pool, request

RAIL = QualifiedName(f"{DRIVER}/rail")


def search_of(found, effort, may_fit=None):
    """Return a search for the claims of ``found``; without ``may_fit`` it prunes as the engine does."""
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


@given(st.integers(1, 3), st.integers(1, 4))
def test_one_request_gets_no_shareable_device_twice(count, links):
    published = pool(*(device(f"d{number}", bw=8) for number in range(links)))
    published = replace(
        published, devices=tuple(replace(one, is_shareable=True) for one in published.devices)
    )
    option = replace(request("r", count=count).alternatives[0], capacity={"bw": Quantity.of(1)})
    found = questioned(published, claim(Request(name="r", alternatives=(option,))))

    answer = search_of(found, Effort()).first()

    assert (answer is not None) is (count <= links)
    assert answer == next(found.answers(found.assignment()), None)


def test_groups_whose_size_depends_on_the_alternative_must_end_in_one_set_of_scopes():
    """The first group has both rails. One device of the second group has one of them, two have both."""
    published = pool(
        *(
            device(f"{kind}-{rail}", attributes={"kind": kind, "rail": rail})
            for kind in ("gpu", "nic")
            for rail in "xy"
        )
    )
    gpu, nic = (f"device.attributes['{DRIVER}'].kind == '{kind}'" for kind in ("gpu", "nic"))
    either = tuple(
        replace(request("b", nic, count=count).alternatives[0], name=f"b/{count}") for count in (1, 2)
    )
    wanted = claim(
        request("a", gpu, count=2),
        Request(name="b", alternatives=either),
        constraints=[SameScope((RAIL,), (("a",), ("b",)))],
    )
    found = questioned(published, wanted)

    assert search_of(found, Effort()).first() == Picked((0, 1), ((0, 1), (2, 3)))
