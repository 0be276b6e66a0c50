"""Part kinds and part counts: how many parts of a kind still fit, against trying everything."""

from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import structures, ways

from scheduler_core.base.effort import Effort
from scheduler_core.engine.policy.part_counts import PartCounts, PartKind, part_kinds_of, share
from scheduler_core.tables.bits import positions
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.structure import Structure

MANY = settings(max_examples=200)
SLICES = 4


def most(tables, mask, state):
    """The largest number of devices of a mask that can be taken one after another."""
    count = 0
    while next(ways(tables, state, [mask] * (count + 1)), None) is not None:
        count += 1
    return count


@MANY
@given(structures(5), st.data())
def test_so_many_parts_of_a_kind_fit_as_can_be_taken_together(structure, data):
    tables = OccupancyTables(structure)
    state = data.draw(st.just(0) | st.integers(0, tables.everything))
    counts = PartCounts(tables, part_kinds_of(tables), Effort())

    assert counts.fit(state) == tuple(most(tables, kind.mask, state) for kind in counts.part_kinds)


@MANY
@given(structures(5))
def test_every_position_is_of_one_kind_and_positions_of_a_kind_draw_equally(structure):
    tables = OccupancyTables(structure)
    kinds = part_kinds_of(tables)

    assert sorted(position for kind in kinds for position in positions(kind.mask)) == list(range(tables.size))
    assert len({kind.key for kind in kinds}) == len(kinds)
    for kind in kinds:
        drawn = {
            tuple(
                sorted((amount, structure.totals[counter]) for counter, amount in structure.draws[position])
            )
            for position in positions(kind.mask)
        }
        assert len(drawn) == 1
        assert {share(tables, position) for position in positions(kind.mask)} == {kind.weight}
        assert 0 <= kind.weight <= 1


@MANY
@given(structures(4), st.permutations(range(4)))
def test_kinds_do_not_depend_on_which_counter_is_which(structure, order):
    renamed = [number for number in order if number < len(structure.totals)]
    draws = tuple(
        tuple((renamed.index(counter), amount) for counter, amount in mine) for mine in structure.draws
    )
    totals = tuple(structure.totals[number] for number in renamed)
    other = Structure(structure.parents, draws, totals)

    mine, theirs = (part_kinds_of(OccupancyTables(one)) for one in (structure, other))

    assert [(kind.key, kind.mask) for kind in mine] == [(kind.key, kind.mask) for kind in theirs]


@given(st.lists(st.tuples(st.integers(0, 15), st.floats(0, 5)), max_size=4), st.integers(0, 15))
def test_the_weight_of_positions_is_that_of_the_heaviest_kind_among_them(kinds, mask):
    tables = OccupancyTables(Structure(((),) * 4, ((),) * 4, (1,)))
    parts = tuple(PartKind((number,), mine, weight) for number, (mine, weight) in enumerate(kinds))

    found = PartCounts(tables, parts, Effort()).weight(mask)

    assert found == max((weight for mine, weight in kinds if mine & mask), default=0)


def test_a_part_of_two_of_four_memory_slices_is_half_of_the_whole():
    slices = tuple((number, 1) for number in range(SLICES))
    structure = Structure(((), (0,), (0,)), ((), slices[:2], slices[2:]), (1,) * SLICES)
    tables = OccupancyTables(structure)

    assert [share(tables, position) for position in range(3)] == [1, 0.5, 0.5]
    assert PartCounts(tables, part_kinds_of(tables), Effort()).fit(0) == (1, 2)
