"""Groups in the place of expressions: they allow exactly what the expressions allow, or are refused."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.errors import CannotProject
from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.books import compatibility
from scheduler_core.books.compatibility import are_incompatible, refusals
from scheduler_core.books.expressed_groups import with_groups
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project


def device(name, mode=None, only=None, source="gpu", memory="1", groups=None):
    """A device of 1 unit of memory, cut from a source of 10."""
    body = {"attributes": {"mode": {"string": mode}}} if mode else {}
    if memory is not None:
        body["capacity"] = {"memory": {"quantity": memory}}
    if source is not None:
        body["consumesCapacityFrom"] = [
            {"name": source, **({"compatibilityGroups": groups} if groups else {})}
        ]
    if only is not None:
        body["compatibleOnlyWith"] = {"expression": only}
    return {"name": name, "composite": body}


def pool_of(*devices):
    whole = [device(name, source=None, memory="10") for name in ("gpu", "other")]
    obj = {
        "metadata": {"name": "s"},
        "spec": {
            "driver": "x.dev",
            "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
            "nodeName": "n",
            "devices": [*whole, *devices],
        },
    }
    return flatten([decode_slice(obj)])


def goes_with(*modes):
    """An expression that devices of these modes meet, and those without one."""
    own = 'device.attributes["x.dev"]'
    listed = ", ".join(f'"{one}"' for one in modes)
    return f'!("mode" in {own}) || {own}.mode in [{listed}]'


def allowed(pool, meaning):
    """Which sets of the devices cut from the GPU can be in use at once."""
    names = [one.name for one in pool.devices if one.name not in ("gpu", "other")]
    found = set()
    for size in range(1, len(names) + 1):
        for several in combinations(names, size):
            books = Ledger(pool, Features(groups=meaning))
            if all(books.admits(name) and not books.take(name, name) for name in several):
                found.add(frozenset(several))
    return found


def projected_or_reasons(pool):
    try:
        return project(with_groups(pool))
    except CannotProject as error:
        return error.reasons


MODES = ["a", "b", "c"]
relations = st.fixed_dictionaries({mode: st.sets(st.sampled_from(MODES)) for mode in MODES})


@given(relations, st.lists(st.sampled_from([*MODES, None]), min_size=1, max_size=5))
def test_what_is_projected_allows_the_same_sets_in_both_meanings_or_is_refused(relation, modes):
    pool = pool_of(
        *(
            device(f"d{number}", mode, goes_with(*relation[mode]) if mode else None)
            for number, mode in enumerate(modes)
        )
    )
    projected = projected_or_reasons(pool)
    if isinstance(projected, tuple):
        assert all("compatibility groups on gpu; v1 allows 2" in one for one in projected)
        return
    assert not any(one.only_with for one in projected.devices)
    assert allowed(projected, "kep-5963") == allowed(projected, "kep-4815") == allowed(pool, "kep-4815")


def test_the_example_of_the_proposal_gets_one_group_for_each_set_that_goes_together():
    pool = pool_of(
        device("mig", "mig", goes_with("mig")),
        device("foo", "foo", goes_with("foo", "bar")),
        device("bar", "bar", goes_with("foo", "bar")),
        device("beside", source="other"),
    )

    found = {one.name: [draw.groups for draw in one.draws] for one in with_groups(pool).devices}

    assert found == {
        "gpu": [],
        "other": [],
        "mig": [{"group-0"}],
        "foo": [{"group-1"}],
        "bar": [{"group-1"}],
        "beside": [None],
    }


def test_a_device_that_goes_with_several_sets_is_in_the_groups_of_all():
    pool = pool_of(device("a", "a", goes_with("a", "b")), device("b", "b"), device("c", "c"))

    draws = {one.name: one.draws for one in with_groups(pool).devices}

    assert draws["b"][0].groups == {"group-0", "group-1"}
    assert (draws["a"][0].groups, draws["c"][0].groups) == ({"group-0"}, {"group-1"})


def test_a_device_that_counting_keeps_apart_needs_no_group():
    pool = pool_of(device("a", "a", goes_with("a")), device("b", "b"), device("all", memory="10"))

    draws = {one.name: one.draws for one in with_groups(pool).devices}

    assert draws["all"][0].groups is None
    assert draws["a"][0].groups


def test_a_source_that_its_parts_refuse_needs_no_group():
    never = 'device.attributes["x.dev"].mode == "a"'
    pool = pool_of(device("a", "a", never), device("a2", "a", never))

    with pytest.raises(CannotProject, match="a and other exclude each other without a common source"):
        with_groups(pool)


def test_own_groups_and_expressions_on_one_source_are_refused():
    pool = pool_of(device("a", "a", goes_with("a"), groups=["x"]), device("b", "b"))

    with pytest.raises(CannotProject, match="a has compatibility groups on gpu, and expressions refuse"):
        with_groups(pool)


def test_more_groups_than_an_api_server_takes_are_refused():
    pool = pool_of(*(device(one, one, goes_with(one)) for one in "abc"), device("any", "any"))
    with_any = pool_of(*(device(one, one, goes_with(one, "any")) for one in "abc"), device("any", "any"))

    assert with_groups(pool_of(*(device(one, one, goes_with(one)) for one in "abc")))
    assert with_groups(pool)
    with pytest.raises(CannotProject, match="any needs 3 compatibility groups on gpu; v1 allows 2"):
        with_groups(with_any)


def test_a_pool_without_expressions_is_the_same_pool():
    pool = pool_of(device("a", groups=["x"]))

    assert with_groups(pool) is pool
    assert Quantity.of(1) in next(one for one in pool.devices if one.name == "a").draws[0].amounts.values()


MODES = st.sampled_from([None, "whole", "mig", "shared"])
EXPRESSIONS = st.sampled_from(
    [None, goes_with("mig"), goes_with("shared", "whole"), "device.other", "no CEL"]
)


@given(kinds=st.lists(st.tuples(MODES, EXPRESSIONS), max_size=5))
def test_the_pairs_that_are_refused_are_those_of_which_one_refuses_the_other(kinds):
    devices = pool_of(*(device(f"d-{number}", *kind) for number, kind in enumerate(kinds))).devices

    expected = [
        (one, other)
        for one, other in permutations(devices, 2)
        if one.only_with is not None and are_incompatible("x.dev", one, other)
    ]

    assert list(refusals("x.dev", devices)) == expected


def test_each_expression_is_asked_once_about_each_device(monkeypatch):
    devices = pool_of(*(device(f"d-{number}", "mig", goes_with("mig")) for number in range(20))).devices
    asked = []
    judge = compatibility._meets
    monkeypatch.setattr(compatibility, "_meets", lambda *question: asked.append(question) or judge(*question))

    assert list(refusals("x.dev", devices)) == []
    assert len(asked) == len(devices)
