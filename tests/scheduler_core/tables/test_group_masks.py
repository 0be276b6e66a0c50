"""Group masks: a position is excluded where it has no compatibility group in common with what is in use."""

from functools import reduce
from operator import and_

from hypothesis import given
from hypothesis import strategies as st
from random_components import parents

from scheduler_core.tables.bits import positions
from scheduler_core.tables.group_masks import GroupMasks
from scheduler_core.tables.occupancy import OccupancyTables
from scheduler_core.tables.structure import Structure

SIZE = 5
SOURCES = (0, 3)
MASKS = st.dictionaries(st.sampled_from(SOURCES), st.integers(1, 7), max_size=2)


def masks_at(compatibility, source, members):
    return [dict(compatibility[one])[source] for one in members if source in dict(compatibility[one])]


def excludes(compatibility, in_use, newcomers):
    """Whether at some source the newcomers declare groups, and none of them is shared by all users."""
    return any(
        masks_at(compatibility, source, newcomers)
        and not reduce(and_, masks_at(compatibility, source, [*in_use, *newcomers]))
        for source in SOURCES
    )


@given(
    parents(SIZE),
    st.lists(MASKS, min_size=SIZE, max_size=SIZE),
    st.integers(0, (1 << SIZE) - 1),
)
def test_excluded_is_what_shares_no_group_with_the_devices_in_use_and_their_ancestors(above, masks, taken):
    compatibility = tuple(tuple(sorted(mine.items())) for mine in masks)
    ancestors = OccupancyTables(Structure(above, ((),) * SIZE, ())).above
    active = reduce(lambda found, one: found | ancestors[one], positions(taken), 0)
    in_use = list(positions(taken | active))
    group_masks = GroupMasks(compatibility, ancestors)

    common = group_masks.narrowed(group_masks.all, in_use)

    expected = {
        position
        for position in range(SIZE)
        if excludes(compatibility, in_use, [position, *positions(ancestors[position] & ~active)])
    }
    assert set(positions(group_masks.excluded(common, active))) == expected


@given(st.lists(MASKS, min_size=SIZE, max_size=SIZE), st.permutations(range(SIZE)))
def test_the_order_in_which_devices_come_into_use_does_not_matter(masks, order):
    compatibility = tuple(tuple(sorted(mine.items())) for mine in masks)
    group_masks = GroupMasks(compatibility, (0,) * SIZE)
    one_by_one = group_masks.all

    for position in order:
        one_by_one = group_masks.narrowed(one_by_one, [position])

    assert one_by_one == group_masks.narrowed(group_masks.all, range(SIZE))
