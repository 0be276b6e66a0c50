"""Conflicts between neighbours: those that the expressions of two devices say, both ways."""

from dataclasses import replace
from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from random_clusters import DRIVER, FAILING, SELECTORS, pool
from searched_nodes import SEEDS, SETTINGS

from scheduler_core.base.features import ALL
from scheduler_core.books.compatibility import are_incompatible
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.search.neighbour_conflicts import NeighbourConflicts
from scheduler_core.model.nodes import OnNode
from scheduler_core.tables.bits import positions
from scheduler_core.tables.pool_compiler import PoolCompiler

EXPRESSIONS = st.none() | st.sampled_from([*SELECTORS, FAILING, "does not compile"])


@st.composite
def compiled_pools(draw):
    """A random pool whose devices have expressions about each other, compiled."""
    found = pool(Random(draw(SEEDS)), DRIVER, "n1", OnNode("n1"))
    devices = tuple(replace(one, only_with=draw(EXPRESSIONS)) for one in found.devices)
    return PoolCompiler(ALL).compile_if_regular(replace(found, devices=devices))


def places(compiled):
    return [(one, position) for one in compiled.components for position in range(one.template.tables.size)]


@SETTINGS
@given(compiled_pools())
def test_two_devices_conflict_where_one_refuses_the_other(compiled):
    conflicts = NeighbourConflicts(compiled, SelectorCache())

    for (one, n), (other, m) in product(places(compiled), repeat=2):
        is_in_conflict = bool(conflicts.of(one, n).get(other, 0) >> m & 1)
        assert is_in_conflict is are_incompatible(DRIVER, one.device(n), other.device(m))
        assert is_in_conflict is bool(conflicts.of(other, m).get(one, 0) >> n & 1)


@SETTINGS
@given(compiled_pools(), st.lists(st.randoms(use_true_random=False), min_size=1, max_size=3))
def test_what_is_in_use_conflicts_with_all_that_its_devices_conflict_with(compiled, chances):
    conflicts = NeighbourConflicts(compiled, SelectorCache())

    for chance in chances:
        for one in compiled.components:
            one.state = chance.randrange(1 << one.template.tables.size)
        in_use = [(one, n) for one in compiled.components for n in positions(one.state)]
        found = conflicts.with_what_is_in_use()
        for one, n in places(compiled):
            expected = any(conflicts.of(other, m).get(one, 0) >> n & 1 for other, m in in_use)
            assert bool(found.get(one, 0) >> n & 1) is expected
