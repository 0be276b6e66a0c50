"""What shares something belongs together; what shares nothing does not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plugin.base.groups import groups_of

KEYS = st.lists(st.frozensets(st.integers(0, 8), max_size=3), max_size=12)


@given(KEYS)
def test_each_place_is_in_one_group_and_the_order_stays(keys: list[frozenset[int]]) -> None:
    groups = groups_of(keys)

    assert sorted(place for group in groups for place in group) == list(range(len(keys)))
    assert [list(group) for group in groups] == sorted(sorted(group) for group in groups)


@given(KEYS)
def test_groups_share_no_key(keys: list[frozenset[int]]) -> None:
    unions = [frozenset().union(*(keys[place] for place in group)) for group in groups_of(keys)]

    assert sum(map(len, unions)) == len(frozenset().union(*unions)) if unions else not keys


@given(KEYS)
def test_no_group_can_be_divided(keys: list[frozenset[int]]) -> None:
    for group in groups_of(keys):
        reached, keys_reached = {group[0]}, set(keys[group[0]])
        for _ in group:
            reached |= {place for place in group if keys[place] & keys_reached}
            keys_reached |= {key for place in reached for key in keys[place]}
        assert reached == set(group)
