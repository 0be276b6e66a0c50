"""What goes wrong while publishing is told once, and what mends itself is not told at all."""

from __future__ import annotations

import itertools
import logging

import pytest
from slice_keeper import Keeper, pool_of

from agent.inventory.model import NodeDevices
from agent.publishing.errors import Outdated, Unreachable
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Listed
from agent.publishing.publication import Clocks, Owner, Publication
from scheduler_core.model.pool import Pool, PoolId

TAKEN = Outdated("cannot create ResourceSlice node-1-d.example-00: it exists already")
GONE = Unreachable("cannot create ResourceSlice node-1-d.example-00: connection refused")


class OneSlice:
    """A source that wants the same slice always."""

    is_full = True

    def wanted(self, found, ask):
        return pool_of(["a"])

    def lost(self, fields):
        return False

    def doubt(self):
        pass


class Shelf:
    """Keeps slices, but a name of ours may be taken by an object that our selection does not show."""

    kind = "ResourceSlice"

    def __init__(self, times_taken, obstacle=TAKEN):
        self.times_taken = times_taken
        self.obstacle = obstacle
        self.keeper = Keeper()

    def create(self, document, *, dry_run=False):
        if self.times_taken:
            self.times_taken -= 1
            raise self.obstacle
        self.keeper.create(document)
        return self.keeper.all()[-1]


class Nodes:
    def uid(self, name):
        return "uid-of-node"


FOUND = Found(NodeDevices(shared=(), groups=(), by_name={}, pool=Pool(id=PoolId("d.example", "node-1"))))


def publication_on(shelf):
    """Return a publication whose waits are the shortest that chance allows."""
    clocks = Clocks(monotonic=lambda: 0.0, wall=lambda: 0.0, spread=lambda: 0.0)
    made = Publication(shelf, OneSlice(), Owner(Nodes(), "node-1"), Metrics(), clocks)
    made.known.hear(Listed(()))
    return made


@pytest.fixture
def attempts(caplog):
    """Try some times with a name that is taken so often; return the publication."""

    def tried(times, times_taken):
        made = publication_on(Shelf(times_taken))
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
    assert [one["metadata"]["name"] for one in publication.shelf.keeper.all()] == ["node-1-d.example-00"]


def test_while_the_server_is_gone_attempts_come_ever_more_slowly_and_are_told_once(caplog):
    publication = publication_on(Shelf(100, GONE))
    attempted = [0.0]

    for _ in range(10):
        publication.attempt(FOUND, attempted[-1])
        attempted.append(publication.due)

    waits = [later - earlier for earlier, later in itertools.pairwise(attempted)]
    assert waits[:5] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert set(waits[5:]) == {5.0}
    assert caplog.messages == [f"cannot publish ResourceSlices: {GONE}; it is retried"]
