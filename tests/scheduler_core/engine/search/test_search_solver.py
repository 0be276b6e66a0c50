"""The search solver: every claim gets the answer of the plain search, whatever the tables cover."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from random_clusters import exclusive, rarely, taken
from searched_nodes import SEEDS, SETTINGS, questioned, searched

from scheduler_core.base.effort import Effort
from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.search.search_solver import SearchSolver
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ExclusiveScope, PreferScope
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.state.testing import DRIVER, claim, device, held, pool, request

RAIL = QualifiedName(f"{DRIVER}/rail")


class Solving:
    """Claims that only the backtracking search answers."""

    def __init__(self, found):
        self.found = found
        self.effort = Effort()
        self.solver = SearchSolver(SelectorCache(), self.effort)

    def solution(self):
        found, view = self.found, self.found.node_view
        return self.solver.solve(
            found.compiled.search(view),
            view,
            holders=lambda: found.state.concerning(found.node),
            may_fit=lambda first, states: found.compiled.may_fit(view, first, states),
        )

    def answer(self):
        """The devices by pool and name in the order of the requests, or the error of a selector."""
        try:
            solution = self.solution()
        except SelectorError as error:
            return error.expression, error.device
        components = self.found.node_view.components
        return solution and [
            (components[number].pool.name, components[number].layout.names[position])
            for number, position in solution.picks
        ]


def plain_answer(found):
    try:
        answer = allocate(found.situation.claims, found.situation.cluster(), found.node)
    except SelectorError as error:
        return error.expression, error.device
    if isinstance(answer, Undecided):
        return answer
    if not isinstance(answer, Allocation):
        return None
    return [(one.device.pool, one.device.device) for results in answer.results.values() for one in results]


@SETTINGS
@given(SEEDS)
def test_the_first_answer_is_that_of_the_plain_search(seed):
    found = searched(seed)
    expected = plain_answer(found)

    if not isinstance(expected, Undecided):
        assert Solving(found).answer() == expected


@SETTINGS
@given(SEEDS)
def test_an_answer_is_known_the_next_time_and_takes_no_step(seed):
    solving = Solving(searched(seed))
    first = solving.answer()
    if isinstance(first, tuple):
        return  # the error of a selector is not remembered
    before = solving.effort.steps

    assert solving.answer() == first
    assert solving.effort.steps == before


@SETTINGS
@given(SEEDS)
def test_an_answer_that_is_known_counts_only_while_the_same_is_in_use(seed):
    found, chance = searched(seed), Random(seed)
    solving = Solving(found)

    for turn in range(3):
        solving.answer()
        holding = found.situation.held
        if holding and chance.random() < 0.5:
            found.state.release(holding.pop(chance.randrange(len(holding))).ref)
        else:
            holding.append(new_holder(found, chance, f"new-{turn}"))
            found.state.hold(holding[-1])
        expected = plain_answer(found)
        if not isinstance(expected, Undecided):
            assert solving.answer() == expected


def new_holder(found, chance, name):
    """A claim that holds a device, and now and then keeps a scope to itself."""
    ids = [(one.id_of(device), device) for one in found.situation.pools for device in one.devices]
    return AllocatedClaim(
        ref=ClaimRef("default", name),
        results=(taken(chance, *chance.choice(ids)),),
        exclusive=(exclusive(chance),) if rarely(chance, 4) else (),
    )


def on_rails(rails):
    """A device on each rail."""
    return pool(*(device(f"d{number}", attributes={"rail": rail}) for number, rail in enumerate(rails)))


def names(answer):
    return answer and [name for _, name in answer]


@pytest.mark.parametrize(
    ("rails", "expected"), [("xyzy", ["d1", "d3"]), ("xyz", ["d0", "d1"]), ("xxyy", ["d0", "d1"])]
)
def test_a_preferred_scope_is_met_where_it_can_be_and_else_left_out(rails, expected):
    wanted = claim(request("r", count=2), constraints=[PreferScope((RAIL,))])

    assert names(Solving(questioned(on_rails(rails), wanted)).answer()) == expected


def test_whether_a_scope_is_kept_counts_where_the_same_devices_are_in_use():
    found = questioned(on_rails("xx"), claim(request("r")))
    solving, holder = Solving(found), held("d0")
    keeping = replace(holder, exclusive=(ExclusiveScope((RAIL,)),))

    answers = []
    for claim_in_use in (holder, keeping, holder):
        found.state.hold(claim_in_use)
        answers.append(names(solving.answer()))
        found.state.release(claim_in_use.ref)

    assert answers == [["d1"], None, ["d1"]]
