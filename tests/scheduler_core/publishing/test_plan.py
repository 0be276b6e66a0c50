"""The plan of writes: laws over any wanted and any stored state, and the rules by example."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from slice_keeper import Keeper, contents, pool_of, slice_of

from scheduler_core.publishing.plan import Create, Delete, Update, plan

WORDS = st.sampled_from(["a", "b", "c", "x"])
POOLS = st.lists(WORDS, min_size=1, max_size=5)
STORED = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 6), WORDS, st.integers(1, 4)),
    max_size=6,
    unique_by=lambda one: one[0],
)


def keeper_of(stored):
    return Keeper([slice_of(index, count, word, generation) for index, count, word, generation in stored])


@given(POOLS, STORED)
@settings(deadline=None)
def test_applied_to_any_state_the_plan_leads_to_the_wanted_pool_and_nothing_else(wanted, stored):
    keeper = keeper_of(stored)

    for write in plan(pool_of(wanted), keeper.all()):
        keeper.apply(write)

    assert contents(keeper.pool()) == wanted
    assert len(keeper.all()) == len(wanted)
    assert plan(pool_of(wanted), keeper.all()) == ()


@given(POOLS, STORED)
@settings(deadline=None)
def test_no_state_in_between_is_a_complete_pool_that_mixes_old_and_new(wanted, stored):
    keeper = keeper_of(stored)
    before = {one["metadata"]["name"]: contents([one])[0] for one in keeper.all()}
    after = {one["metadata"]["name"]: contents([one])[0] for one in pool_of(wanted)}

    for write in plan(pool_of(wanted), keeper.all()):
        keeper.apply(write)
        seen = {one["metadata"]["name"]: contents([one])[0] for one in keeper.pool() or ()}

        assert seen.items() <= before.items() or seen == after


@given(POOLS, STORED, st.integers(0, 8))
@settings(deadline=None)
def test_a_plan_that_was_cut_short_is_finished_by_the_next_one_without_writing_twice(wanted, stored, done):
    keeper = keeper_of(stored)
    writes = plan(pool_of(wanted), keeper.all())

    for write in writes[:done]:
        keeper.apply(write)
    rest = plan(pool_of(wanted), keeper.all())

    assert len(rest) <= max(0, len(writes) - done)


@given(POOLS, POOLS)
@settings(deadline=None)
def test_a_slice_is_written_at_most_once(wanted, stored):
    writes = plan(pool_of(wanted), Keeper(pool_of(stored)).all())

    assert len(writes) <= max(len(wanted), len(stored))


def test_a_change_of_one_slice_keeps_the_generation_and_is_one_write():
    stored = Keeper(pool_of(["a", "b", "c"], generation=7)).all()

    (write,) = plan(pool_of(["a", "x", "c"]), stored)

    assert isinstance(write, Update)
    assert write.document["spec"]["pool"]["generation"] == 7


def test_a_change_of_two_slices_rewrites_all_in_the_next_generation():
    stored = Keeper(pool_of(["a", "b", "c"], generation=7)).all()

    writes = plan(pool_of(["a", "x", "x"]), stored)

    assert [type(write) for write in writes] == [Update, Update, Update]
    assert {write.document["spec"]["pool"]["generation"] for write in writes} == {8}


def test_a_pool_that_grows_is_rewritten_updates_before_creations():
    stored = Keeper(pool_of(["a", "b"], generation=7)).all()

    writes = plan(pool_of(["a", "b", "c"]), stored)

    assert [type(write) for write in writes] == [Update, Update, Create]
    assert {write.document["spec"]["pool"]["generation"] for write in writes} == {8}


def test_a_pool_that_shrinks_loses_its_obsolete_slices_first():
    stored = Keeper(pool_of(["a", "b", "c"], generation=7)).all()

    writes = plan(pool_of(["a", "b"]), stored)

    assert [type(write) for write in writes] == [Delete, Update, Update]


def test_a_slice_that_somebody_deleted_comes_back_alone():
    """The pool is incomplete without it, and complete and right with it: its generation can stay."""
    stored = Keeper(pool_of(["a", "b", "c"], generation=7)).all()

    (write,) = plan(pool_of(["a", "b", "c"]), [stored[0], stored[2]])

    assert isinstance(write, Create)
    assert write.document["spec"]["pool"]["generation"] == 7


def test_where_nothing_is_left_the_first_generation_begins():
    writes = plan(pool_of(["a", "b"]), ())

    assert [type(write) for write in writes] == [Create, Create]
    assert {write.document["spec"]["pool"]["generation"] for write in writes} == {1}


def test_updates_and_deletions_name_the_version_that_they_were_planned_from():
    stored = Keeper(pool_of(["a", "b"])).all()

    delete, update = plan(pool_of(["x"]), stored)

    assert delete == Delete(
        stored[1]["metadata"]["name"], stored[1]["metadata"]["uid"], stored[1]["metadata"]["resourceVersion"]
    )
    assert update.document["metadata"]["resourceVersion"] == stored[0]["metadata"]["resourceVersion"]


def test_what_others_added_to_the_metadata_stays_and_is_no_reason_to_write():
    (stored,) = Keeper(pool_of(["a"])).all()
    marked = {**stored, "metadata": {**stored["metadata"], "labels": {"theirs": "1"}}}

    assert plan(pool_of(["a"]), [marked]) == ()
    (write,) = plan(pool_of(["x"]), [marked])
    assert write.document["metadata"]["labels"] == {"theirs": "1"}


def test_an_owner_that_was_taken_away_comes_back_without_a_new_generation():
    owner = {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "u", "controller": True}
    wanted = [
        {**one, "metadata": {**one["metadata"], "ownerReferences": [owner]}} for one in pool_of(["a", "b"])
    ]
    stored = Keeper(pool_of(["a", "b"], generation=7)).all()

    writes = plan(wanted, stored)

    assert [type(write) for write in writes] == [Update, Update]
    assert {write.document["spec"]["pool"]["generation"] for write in writes} == {7}
    assert all(write.document["metadata"]["ownerReferences"] == [owner] for write in writes)


def test_what_nobody_can_change_is_deleted_and_made_again():
    stored = Keeper([slice_of(0, 1, "a")]).all()
    elsewhere = {**stored[0], "spec": {**stored[0]["spec"], "nodeName": "node-2"}}

    writes = plan(pool_of(["a"]), [elsewhere])

    assert [type(write) for write in writes] == [Delete, Create]
