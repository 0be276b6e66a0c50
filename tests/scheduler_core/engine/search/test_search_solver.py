"""The search solver: every claim gets the answer of the plain search, whatever the tables cover."""

from random import Random

from hypothesis import given
from random_clusters import exclusive, rarely, taken
from searched_nodes import SEEDS, SETTINGS, searched

from scheduler_core.base.effort import Effort
from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.search.search_solver import SearchSolver
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.model.result import Allocation, Undecided


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
        held = found.situation.held
        if held and chance.random() < 0.5:
            found.state.release(held.pop(chance.randrange(len(held))).ref)
        else:
            held.append(new_holder(found, chance, f"new-{turn}"))
            found.state.hold(held[-1])
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
