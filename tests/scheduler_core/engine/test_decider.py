"""Decisions within the bound: undecided where it is reached, and never a wrong answer."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_clusters import FAILING, NODES, situation_of
from searched_nodes import SEEDS, questioned

from scheduler_core.base.effort import Effort
from scheduler_core.base.errors import CoreError
from scheduler_core.engine import decider
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.compiled_claims import CompiledClaims
from scheduler_core.engine.decider import Decider, Solver
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.engine.solve.planner import Planner
from scheduler_core.model.claim import MatchAttribute, SameScope
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.result import Undecided
from scheduler_core.search.candidates import located
from scheduler_core.state.testing import ANY, DRIVER, claim, device, pool, request

SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
RAIL = QualifiedName(f"{DRIVER}/rail")


class Decisions:
    """A decider with what it needs, and the claims of one situation."""

    def __init__(self, situation):
        self.state, self.claims = situation.engine().state, situation.claims
        self.effort, cache = Effort(), SelectorCache()
        self.compiled_claims = CompiledClaims(Planner(self.effort), cache, situation.features, lambda: None)
        self.compiled_claims.set_classes({"any": ANY})
        self.decider = Decider(
            FIRST_FIT.chooser(cache, self.effort),
            cache,
            self.effort,
            cluster_of=self.state.seen_from,
            holders_of=self.state.concerning,
            located=lambda error, claims: located(error, claims, self.state.classes),
        )

    def decide(self, node):
        return self._asked(self.decider.decide, node)

    def fits(self, node):
        return self._asked(self.decider.fits, node)

    def _asked(self, question, node):
        """The answer in a form that two deciders give alike."""
        try:
            compiled = self.compiled_claims.of_new(self.claims)
            found = question(self.claims, compiled, self.state.views.node_view(node))
        except CoreError as error:
            return str(error)
        is_answer = isinstance(found, tuple) and not isinstance(found[0], bool | Undecided)
        return (found[1].choice.options, found[1].picks) if is_answer else found


@SETTINGS
@given(SEEDS, st.integers(0, 40))
def test_a_bound_leads_to_the_same_answer_or_to_undecided_and_spoils_no_later_answer(seed, most):
    decisions, node = Decisions(situation_of(Random(seed))), NODES[seed % 2]
    expected = Decisions(situation_of(Random(seed))).decide(node)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decider, "DECISION", most)
        before = decisions.effort.steps
        found = decisions.decide(node)

    if isinstance(found, Undecided):
        assert (found.node, found.steps) == (node.name, most)
        assert decisions.effort.steps - before > most
    else:
        assert found == expected
    assert decisions.decide(node) == expected


@SETTINGS
@given(SEEDS, st.integers(0, 40))
def test_claims_fit_where_there_is_an_answer_and_undecided_is_not_remembered(seed, most):
    decisions, node = Decisions(situation_of(Random(seed))), NODES[seed % 2]
    answer = Decisions(situation_of(Random(seed))).decide(node)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decider, "DECISION", most)
        found = decisions.fits(node)

    if isinstance(answer, str):
        return  # a selector fails: which device is looked at first depends on what is asked
    if isinstance(found[0], Undecided):
        assert (found[0].node, found[0].steps, found[1]) == (node.name, most, False)
    else:
        assert found[0] is (answer is not None)
    assert decisions.fits(node)[0] is (answer is not None)


@pytest.mark.parametrize(
    ("constraint", "solver"),
    [(MatchAttribute(RAIL), Solver.TABLES), (SameScope((RAIL,), (("a",), ("b",))), Solver.BACKTRACKING)],
)
def test_the_tables_answer_what_they_cover_and_the_backtracking_search_the_rest(constraint, solver):
    published = pool(*(device(f"d{n}", attributes={"rail": "r"}) for n in range(2)))
    found = questioned(published, claim(request("a"), request("b"), constraints=[constraint]))
    decisions = Decisions(found.situation)

    assert decisions.decide(found.node) is not None
    assert decisions.decider.answered_by.solver is solver
    assert (decisions.decider.answered_by.gap is None) is (solver is Solver.TABLES)


def test_a_selector_that_fails_is_reported_with_the_field_that_holds_it():
    found = questioned(pool(device("d")), claim(request("a", FAILING)))

    decisions = Decisions(found.situation)

    assert "request a selectors[0]" in decisions.decide(found.node)
