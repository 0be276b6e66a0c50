"""Packings: valid ways to place devices, and none left out that could be the best."""

from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import tables_with_columns, ways

from scheduler_core.base.effort import Effort
from scheduler_core.engine.policy.packings import lost, packings
from scheduler_core.engine.policy.part_counts import PartCounts, part_kinds_of
from scheduler_core.engine.solve.component_view import ComponentView

MANY = settings(max_examples=200)
VIEWS = tables_with_columns(most=5, columns=2)
ORDERS = st.lists(st.integers(0, 1), min_size=1, max_size=3)
FITS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=5)


def end_of(state, way):
    return state | sum(1 << position for position in way)


def is_under(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


def found_in(view, order):
    tables, masks, state = view
    order = tuple(column % len(masks) for column in order)
    counts = PartCounts(tables, part_kinds_of(tables), Effort())
    every = list(ways(tables, state, [masks[column] for column in order]))
    return packings(ComponentView(tables, masks, Effort()), counts, state, order), every, counts


@MANY
@given(VIEWS, ORDERS)
def test_every_packing_is_a_way_to_take_the_devices_with_what_it_costs(view, order):
    found, every, counts = found_in(view, order)
    before = counts.fit(view[2])

    for packing in found:
        assert packing.positions in every
        assert packing.losses == lost(before, counts.fit(end_of(view[2], packing.positions)))


@MANY
@given(VIEWS, ORDERS)
def test_for_every_way_there_is_a_packing_that_leaves_at_least_as_much_of_everything(view, order):
    found, every, counts = found_in(view, order)
    left = [counts.fit(end_of(view[2], packing.positions)) for packing in found]

    assert bool(found) is bool(every)
    for way in every:
        assert any(is_under(counts.fit(end_of(view[2], way)), one) for one in left)


@MANY
@given(VIEWS, ORDERS)
def test_no_packing_leaves_less_of_everything_than_another(view, order):
    found, _, counts = found_in(view, order)
    left = [counts.fit(end_of(view[2], packing.positions)) for packing in found]

    for number, one in enumerate(left):
        assert not any(is_under(one, other) for other in left[:number] + left[number + 1 :])


@given(FITS)
def test_losses_are_the_kinds_of_which_fewer_fit(pairs):
    before = tuple(most + loss for most, loss in pairs)
    after = tuple(most for most, _ in pairs)

    assert dict(lost(before, after)) == {number: loss for number, (_, loss) in enumerate(pairs) if loss}
