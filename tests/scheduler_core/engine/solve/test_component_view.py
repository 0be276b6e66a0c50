"""Component views: what fits, what comes first and how much fits at most, against trying everything."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import tables_with_columns, ways

from scheduler_core.base.effort import Effort
from scheduler_core.engine.solve.component_view import ComponentView, counted, without
from scheduler_core.tables.bits import positions
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.structure import Structure

VIEWS = tables_with_columns(most=5)
MANY = settings(max_examples=200)
COUNTS = st.lists(st.integers(0, 2), min_size=3, max_size=3)


def turns(counts):
    """The columns of so many devices, one after another."""
    return [column for column, count in enumerate(counts) for _ in range(count)]


def first_way(tables, masks, state, order):
    return next(ways(tables, state, [masks[column] for column in order]), None)


def is_under(one, other):
    return all(a <= b for a, b in zip(one, other, strict=True))


@MANY
@given(VIEWS, COUNTS)
def test_counts_fit_where_some_way_to_take_so_many_devices_exists(view, counts):
    tables, masks, state = view
    counts = tuple(counts[: len(masks)])

    fits = ComponentView(tables, masks, Effort()).fits(state, counts)

    assert fits is (first_way(tables, masks, state, turns(counts)) is not None)


@MANY
@given(VIEWS, st.lists(st.integers(0, 2), max_size=4))
def test_the_first_devices_for_some_turns_are_those_of_the_first_way(view, order):
    tables, masks, state = view
    order = tuple(column % len(masks) for column in order)

    found = ComponentView(tables, masks, Effort()).first(state, order)

    assert found == first_way(tables, masks, state, order)


@MANY
@given(VIEWS, COUNTS)
def test_the_frontier_has_all_the_largest_counts_that_fit_and_no_others(view, counts):
    tables, masks, state = view
    counts = tuple(counts[: len(masks)])
    fitting = {
        vector
        for vector in product(*(range(count + 1) for count in counts))
        if first_way(tables, masks, state, turns(vector)) is not None
    }

    frontier = ComponentView(tables, masks, Effort()).frontier(state, counts)

    assert len(set(frontier)) == len(frontier)
    assert set(frontier) == {
        one for one in fitting if not any(one != other and is_under(one, other) for other in fitting)
    }


@MANY
@given(VIEWS)
def test_a_column_offers_its_free_positions_and_leaves_out_only_interchangeable_ones(view):
    tables, masks, state = view
    found = ComponentView(tables, masks, Effort())
    for column, mask in enumerate(masks):
        free = tables.free(state) & mask
        offered = list(found.choices(state, column))

        assert found.lowest(state, column) == next(positions(free), -1)
        assert offered == sorted(offered)
        for position in positions(free):
            if position not in offered:
                assert any(
                    tables.twins[position] >> other & 1
                    and all(every >> position & 1 == every >> other & 1 for every in masks)
                    for other in offered
                    if other < position
                )


@MANY
@given(VIEWS, COUNTS)
def test_what_fits_after_a_device_is_taken_is_what_fits_in_the_state_with_it(view, counts):
    tables, masks, state = view
    counts = tuple(counts[: len(masks)])
    for position in positions(tables.free(state)):
        found, fresh = ComponentView(tables, masks, Effort()), ComponentView(tables, masks, Effort())

        assert found.fits_after(state, position, counts) is fresh.fits(state | 1 << position, counts)


def test_a_device_that_draws_nothing_from_a_counter_of_nothing_fits():
    tables = OccupancyTables(Structure(parents=((),), draws=(((0, 0),),), totals=(0,)))

    assert ComponentView(tables, (1,), Effort()).fits(0, (1,))


@given(st.lists(st.integers(0, 2), min_size=1))
def test_counts_are_how_often_each_column_occurs(order):
    counts = counted(tuple(order), 3)

    assert counts == tuple(order.count(column) for column in range(3))
    assert without(counts, order[0]) == counted(tuple(order[1:]), 3)
