"""One object that cannot be written or deleted keeps no other from it, and nothing half true is read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slice_keeper import Copied, Keeper, contents, pool_of, slice_of

from agent.publishing.errors import NotAllowed, Outdated, Refused, Unreachable
from agent.publishing.metrics import Metrics
from agent.publishing.publisher import NotAllWritten, Publisher
from scheduler_core.publishing.documents import name_of
from scheduler_core.publishing.plan import Create, Delete, Update

WORDS = st.sampled_from(["a", "b", "c", "x"])
POOLS = st.lists(WORDS, min_size=1, max_size=5)
STORED = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 6), WORDS, st.integers(1, 4)),
    max_size=6,
    unique_by=lambda one: one[0],
)


class SliceStore(Copied):
    """Keeps slices, but fails for some names as it is told; remembers what was asked and each state."""

    kind = "ResourceSlice"

    def __init__(self, stored=(), failures=None):
        self.keeper = Keeper(stored)
        self.failures = failures or {}
        self.asked = []
        self.states = []

    def create(self, document, *, dry_run=False):
        return self._write("create", name_of(document), Create(document))

    def replace(self, document):
        return self._write("update", name_of(document), Update(document))

    def delete(self, name, uid, resource_version):
        self._write("delete", name, Delete(name, uid, resource_version))

    def _write(self, verb, name, write):
        self.asked.append((verb, name))
        if error := self.failures.get((verb, name)):
            raise error(f"cannot {verb} {name}")
        self.keeper.apply(write)
        self.states.append(self.keeper.pool())
        return self.keeper.objects.get(name)


def publisher_of(store):
    return Publisher(store, Metrics())


def publish(store, wanted):
    """Publish and return what failed."""
    try:
        publisher_of(store).publish(pool_of(wanted))
    except NotAllWritten as error:
        return error
    return None


def name(index):
    return f"node-1-d.example-{index:02d}"


def stored_of(slices):
    return [slice_of(index, count, word, generation) for index, count, word, generation in slices]


@given(POOLS, STORED, st.sets(st.integers(0, 6)))
@settings(deadline=None)
def test_whatever_cannot_be_deleted_the_pool_becomes_the_wanted_one_beside_it(wanted, stored, stuck):
    failures = {("delete", name(index)): NotAllowed for index in stuck}
    store = SliceStore(stored_of(stored), failures)
    left = sorted({name(one[0]) for one in stored if one[0] in stuck and one[0] >= len(wanted)})

    failed = publish(store, wanted)

    assert contents(store.keeper.pool()) == wanted
    assert sorted(map(str, failed.failures if failed else ())) == [f"cannot delete {one}" for one in left]
    assert set(store.keeper.objects) == {*map(name, range(len(wanted))), *left}


@given(POOLS, STORED, st.sets(st.tuples(st.sampled_from(["create", "update", "delete"]), st.integers(0, 6))))
@settings(deadline=None)
def test_whatever_fails_no_state_is_a_complete_pool_that_mixes_old_and_new(wanted, stored, failing):
    failures = {(verb, name(index)): Refused for verb, index in failing}
    store = SliceStore(stored_of(stored), failures)
    before = {name_of(one): contents([one])[0] for one in store.keeper.all()}
    after = {name_of(one): contents([one])[0] for one in pool_of(wanted)}

    publish(store, wanted)

    for state in store.states:
        seen = {name_of(one): contents([one])[0] for one in state or ()}
        assert seen.items() <= before.items() or seen == after


def test_all_that_fails_is_told_with_one_message_each():
    stored = pool_of(["a", "b", "c", "d"])
    failures = {("delete", name(2)): NotAllowed, ("delete", name(3)): Refused, ("update", name(1)): Refused}
    store = SliceStore(stored, failures)

    failed = publish(store, ["x", "x"])

    messages = [f"cannot delete {name(2)}", f"cannot delete {name(3)}", f"cannot update {name(1)}"]
    assert [str(one) for one in failed.failures] == messages
    assert not failed.is_complete
    assert [verb for verb, _ in store.asked] == ["delete", "delete", "update", "update"]


def test_what_is_wanted_is_stored_though_something_obsolete_stays():
    store = SliceStore(pool_of(["a", "b"]), {("delete", name(1)): NotAllowed})

    failed = publish(store, ["a"])

    assert failed.is_complete
    assert contents(store.keeper.pool()) == ["a"]


def test_a_leftover_that_stays_costs_one_deletion_at_the_next_attempt_and_no_other_write():
    store = SliceStore(pool_of(["a", "b", "c"]), {("delete", name(2)): NotAllowed})
    publish(store, ["a", "b"])
    store.asked.clear()

    assert publish(store, ["a", "b"])

    assert store.asked == [("delete", name(2))]


def test_what_needs_the_name_of_something_that_stays_waits_and_the_rest_is_written():
    elsewhere = slice_of(1, 2, "a")
    blocking = {**elsewhere, "spec": {**elsewhere["spec"], "nodeName": "node-2"}}
    store = SliceStore([blocking], {("delete", name(1)): NotAllowed})

    failed = publish(store, ["a", "b", "c"])

    assert not failed.is_complete
    assert store.asked == [("delete", name(1)), ("create", name(0)), ("create", name(2))]


def test_while_no_slice_of_a_new_generation_is_taken_the_old_pool_stays_whole():
    store = SliceStore(pool_of(["a", "b", "c"]), {("update", name(0)): Refused})

    assert publish(store, ["x", "x", "x"])

    assert contents(store.keeper.pool()) == ["a", "b", "c"]
    assert store.asked == [("update", name(0))]


def test_once_a_generation_has_begun_a_slice_that_is_refused_is_the_only_one_missing():
    store = SliceStore(pool_of(["a", "b", "c"]), {("update", name(1)): Refused})
    publish(store, ["x", "x", "x"])
    store.failures.clear()
    store.asked.clear()

    assert publish(store, ["x", "x", "x"]) is None

    assert store.asked == [("update", name(1))]


@pytest.mark.parametrize("error", [Unreachable, Outdated])
def test_a_server_that_is_gone_or_a_pool_that_somebody_else_writes_ends_the_attempt(error):
    store = SliceStore(pool_of(["a", "b", "c"]), {("update", name(1)): error})

    (failure,) = publish(store, ["x", "x", "x"]).failures

    assert isinstance(failure, error)
    assert store.asked == [("update", name(0)), ("update", name(1))]


def test_a_server_that_does_not_answer_a_deletion_is_asked_nothing_more():
    store = SliceStore(pool_of(["a", "b", "c"]), {("delete", name(1)): Unreachable})

    (failure,) = publish(store, ["x"]).failures

    assert isinstance(failure, Unreachable)
    assert store.asked == [("delete", name(1))]
