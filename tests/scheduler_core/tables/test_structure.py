"""Structures: equal hardware has an equal structure, in whatever units it is published."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.tables.structure import compatibility_of, scaled

AMOUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=5)
GROUPS = st.none() | st.sets(st.sampled_from("xyz"), min_size=1, max_size=2).map(frozenset)
DECLARED = st.lists(st.dictionaries(st.integers(0, 1), GROUPS, max_size=2), min_size=1, max_size=5)


def structure_of(amounts, total):
    return scaled(((),) * len(amounts), [[(0, amount)] for amount in amounts], [total])


@given(AMOUNTS.filter(any), st.integers(0, 40), st.integers(1, 1000))
def test_the_unit_of_a_counter_does_not_change_the_structure(amounts, total, unit):
    assert structure_of([unit * amount for amount in amounts], unit * total) == structure_of(amounts, total)


@given(AMOUNTS, st.integers(0, 40))
def test_what_fits_before_scaling_fits_after_it_and_nothing_else(amounts, total):
    structure = structure_of(amounts, total)

    for size in range(len(amounts) + 1):
        for chosen in combinations(range(len(amounts)), size):
            steps = sum(structure.draws[position][0][1] for position in chosen)
            assert (steps <= structure.totals[0]) == (sum(amounts[one] for one in chosen) <= total)


def declared_of(devices):
    return [[(source, 0, groups) for source, groups in one.items()] for one in devices]


@given(DECLARED, st.sampled_from(["kep-4815", "kep-5963"]))
def test_two_masks_of_a_source_meet_where_the_devices_have_a_group_in_common(devices, meaning):
    compatibility = [dict(masks) for masks in compatibility_of(declared_of(devices), meaning)]

    for (one, mine), (other, theirs) in combinations(zip(devices, compatibility, strict=False), 2):
        for source in mine.keys() & theirs.keys():
            groups, others = one[source], other[source]
            expected = bool(groups & others) if groups and others else groups is others
            assert bool(mine[source] & theirs[source]) is expected


@given(DECLARED)
def test_a_device_without_groups_has_no_mask_but_in_the_meaning_of_kep_5963(devices):
    declares = any(groups for one in devices for groups in one.values())

    first, shipped = (compatibility_of(declared_of(devices), meaning) for meaning in ("kep-4815", "kep-5963"))

    if not declares:
        assert first == shipped == ()
        return
    assert [{source for source, _ in masks} for masks in first] == [
        {source for source, groups in one.items() if groups} for one in devices
    ]
    assert [{source for source, _ in masks} for masks in shipped] == [set(one) for one in devices]
