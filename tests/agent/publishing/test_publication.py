"""What goes wrong while publishing is told once, and what mends itself is not told at all."""

from __future__ import annotations

import itertools
import logging
from math import inf

import pytest
from slice_keeper import Copied, Keeper, Undoubted, pool_of

from agent.inventory.model import NodeDevices
from agent.publishing.errors import NotAllowed, Outdated, Unreachable
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.publication import Clocks, Owner, Publication
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.publishing.plan import Delete, Update

TAKEN = Outdated("cannot create ResourceSlice node-1-d.example-00: it exists already")
GONE = Unreachable("cannot create ResourceSlice node-1-d.example-00: connection refused")


class OneSlice(Undoubted):
    """A source that wants the same slice always."""

    def wanted(self, found, ask):
        return pool_of(["a"])


class SliceStore(Copied):
    """Keeps slices, but a name of ours may be taken by an object that our selection does not show."""

    kind = "ResourceSlice"

    def __init__(self, times_taken, obstacle=TAKEN, stored=()):
        self.times_taken = times_taken
        self.obstacle = obstacle
        self.keeper = Keeper(stored)
        self.undeletable = set()

    def create(self, document, *, dry_run=False):
        if self.times_taken:
            self.times_taken -= 1
            raise self.obstacle
        self.keeper.create(document)
        return self.keeper.all()[-1]

    def replace(self, document):
        self.keeper.apply(Update(document))
        return self.keeper.objects[document["metadata"]["name"]]

    def delete(self, name, uid, resource_version):
        if name in self.undeletable:
            raise NotAllowed(f"cannot delete {name}: a webhook says no; its owner must allow it")
        self.keeper.apply(Delete(name, uid, resource_version))


class Nodes:
    def uid(self, name):
        return "uid-of-node"


FOUND = Found(NodeDevices(shared=(), groups=(), by_name={}, pool=Pool(id=PoolId("d.example", "node-1"))))


def publication_on(store):
    """Return a publication whose waits are the shortest that chance allows."""
    clocks = Clocks(monotonic=lambda: 0.0, wall=lambda: 0.0, spread=lambda: 0.0)
    return Publication(store, OneSlice(), Owner(Nodes(), "node-1"), Metrics(), clocks)


@pytest.fixture
def attempts(caplog):
    """Try some times with a name that is taken so often; return the publication."""

    def tried(times, times_taken):
        made = publication_on(SliceStore(times_taken))
        with caplog.at_level(logging.WARNING):
            for now in range(times):
                made.attempt(FOUND, float(now))
        return made

    return tried


def test_a_lost_race_is_not_worth_a_word(attempts, caplog):
    publication = attempts(4, times_taken=3)

    assert publication.is_done
    assert caplog.messages == []


def test_a_name_that_stays_taken_is_told_once_and_tried_again(attempts, caplog):
    publication = attempts(10, times_taken=100)

    assert not publication.is_done
    assert publication.due < 100
    (told,) = caplog.messages
    assert "node-1-d.example-00: it exists already; it is retried" in told


def test_once_the_name_is_free_the_slice_is_published(attempts):
    publication = attempts(10, times_taken=9)

    assert publication.is_done
    assert [one["metadata"]["name"] for one in publication.store.keeper.all()] == ["node-1-d.example-00"]


def test_while_the_server_is_gone_attempts_come_ever_more_slowly_and_are_told_once(caplog):
    publication = publication_on(SliceStore(100, GONE))
    attempted = [0.0]

    for _ in range(10):
        publication.attempt(FOUND, attempted[-1])
        attempted.append(publication.due)

    waits = [later - earlier for earlier, later in itertools.pairwise(attempted)]
    assert waits[:5] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert set(waits[5:]) == {5.0}
    assert caplog.messages == [f"cannot publish ResourceSlices: {GONE}; it is retried"]


NAMES = [one["metadata"]["name"] for one in pool_of(["a", "b", "c"])]


@pytest.fixture
def shrunk():
    """A publication that wants one slice where three are stored, of which two cannot be deleted."""
    store = SliceStore(0, stored=pool_of(["a", "b", "c"]))
    store.undeletable = set(NAMES[1:])
    return publication_on(store)


def test_what_cannot_be_deleted_is_told_one_by_one_and_once_and_what_is_wanted_counts_as_published(
    shrunk, caplog
):
    for now in range(3):
        shrunk.attempt(FOUND, float(now))

    assert shrunk.is_done
    assert [one["metadata"]["name"] for one in shrunk.store.keeper.pool()] == NAMES[:1]
    assert [message.partition(":")[2].split()[2] for message in caplog.messages] == [
        f"{name}:" for name in NAMES[1:]
    ]


def test_what_could_not_be_deleted_is_tried_again_ever_more_slowly_until_it_is_gone(shrunk):
    waits = []
    for _ in range(4):
        now = sum(waits)
        shrunk.attempt(FOUND, now)
        waits.append(shrunk.due - now)
    shrunk.store.undeletable.clear()

    shrunk.attempt(FOUND, shrunk.due)

    assert waits == [0.25, 0.5, 1.0, 2.0]
    assert shrunk.due == inf
    assert [one["metadata"]["name"] for one in shrunk.store.keeper.all()] == NAMES[:1]


def test_one_that_is_mended_is_told_again_when_it_fails_again_and_the_others_are_not(shrunk, caplog):
    shrunk.attempt(FOUND, 0.0)
    shrunk.store.undeletable = {NAMES[1]}
    shrunk.attempt(FOUND, 1.0)

    shrunk.attempt(FOUND, 2.0)

    assert len(caplog.messages) == 2
    assert shrunk.due > 2.0


def test_a_discovery_that_finds_nothing_new_leaves_the_wait_after_a_failure_alone():
    publication = publication_on(SliceStore(100, GONE))
    publication.attempt(FOUND, 0.0)
    due = publication.due

    publication.discovered(0.1, is_new=False)

    assert publication.due == due


def test_a_look_that_finds_something_new_ends_the_wait_after_a_failure():
    publication = publication_on(SliceStore(100, GONE))
    publication.attempt(FOUND, 0.0)

    publication.discovered(0.1, is_new=True)

    assert publication.due == 0.1


def test_a_change_of_what_is_stored_ends_the_wait_after_a_failure():
    publication = publication_on(SliceStore(100, GONE))
    for _ in range(8):
        publication.attempt(FOUND, 0.0)

    publication.want(0.1)

    assert publication.due == 0.1


def test_a_discovery_that_finds_nothing_new_has_what_is_stored_compared_where_nothing_failed():
    publication = publication_on(SliceStore(0))
    publication.attempt(FOUND, 0.0)

    publication.discovered(0.1, is_new=False)

    assert publication.due == 0.1
