"""If the server refuses a slice, the rest of the pool is published without the device that it names."""

from __future__ import annotations

from math import inf

import pytest
from slice_keeper import Copied, Keeper, Undoubted, pool_of

from agent.inventory.model import NodeDevices
from agent.publishing.errors import Refused
from agent.publishing.forms import Found, NotTaken
from agent.publishing.metrics import Metrics
from agent.publishing.publication import Clocks, Owner, Publication
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.publishing.plan import Update

FOUND = Found(NodeDevices(shared=(), groups=(), by_name={}, pool=Pool(id=PoolId("d.example", "node-1"))))


class Strict(Copied):
    """A server that refuses devices of some names, wherever they are, and counts refusals."""

    kind = "ResourceSlice"

    def __init__(self, refused):
        self.keeper = Keeper()
        self.refused = set(refused)
        self.refusals = 0

    def create(self, document, *, dry_run=False):
        self._judge(document)
        if dry_run:
            return document
        self.keeper.create(document)
        return self.keeper.all()[-1]

    def replace(self, document):
        self._judge(document)
        self.keeper.apply(Update(document))
        return self.keeper.objects[document["metadata"]["name"]]

    def _judge(self, document):
        devices = document["spec"].get("devices", ())
        wrong = [index for index, one in enumerate(devices) if one["name"] in self.refused]
        if wrong:
            self.refusals += 1
            fields = [f"spec.devices[{index}].attributes[x].string" for index in wrong]
            raise Refused(f"{', '.join(fields)}: Too long", fields)


class Source(Undoubted):
    """Wants what it is told; asks before, as the source of ResourceSlices does."""

    def __init__(self, wanted):
        self.slices = wanted
        self.answers = []

    def wanted(self, found, ask):
        self.answers.append(ask(self.slices))
        return self.slices


class Nodes:
    def uid(self, name):
        return "uid-of-node"


@pytest.fixture
def site():
    """A publication of three slices with a device each, and its server, which refuses one of them."""

    def make(*refused, wanted="abc"):
        store, source, metrics = Strict(refused), Source(pool_of(wanted)), Metrics()
        clocks = Clocks(monotonic=lambda: 0.0, wall=lambda: 0.0, spread=lambda: 0.0)
        made = Publication(store, source, Owner(Nodes(), "node-1"), metrics, clocks)
        made.metrics = metrics
        return made

    return make


def published(publication):
    pool = publication.store.keeper.pool()
    assert pool is not None, "the pool is incomplete"
    return [device["name"] for one in pool for device in one["spec"].get("devices", ())]


def attempts(publication, most=10):
    """Attempt until nothing is due; return how often."""
    for count in range(most):
        publication.attempt(FOUND, float(count))
        if publication.due == inf:
            return count + 1
    return most


def test_a_device_that_the_server_refuses_keeps_no_other_device_from_being_published(site, caplog):
    publication = site("b")

    attempts(publication)

    assert published(publication) == ["a", "c"]
    assert publication.is_done
    (told,) = caplog.messages
    assert told.startswith("the rest of the ResourceSlices is published without device b: ")
    assert 'tangram_agent_refused_entries{kind="ResourceSlice"} 1.0\n' in publication.metrics.text()


def test_a_dry_run_that_is_refused_for_one_device_decides_nothing_about_the_form_of_all(site):
    publication = site("a")

    attempts(publication)

    assert not any(isinstance(answer, NotTaken) for answer in publication.source.answers)
    assert published(publication) == ["b", "c"]


def test_without_a_dry_run_the_write_itself_names_the_device_and_is_repeated_at_once(site, caplog):
    publication = site("b")
    publication.source.wanted = lambda found, ask: publication.source.slices

    publication.attempt(FOUND, 5.0)
    due = publication.due
    attempts(publication)

    assert due == 5.0
    assert published(publication) == ["a", "c"]
    assert len(caplog.messages) == 1


def test_what_was_refused_is_not_sent_again_as_it_was(site):
    publication = site("b")
    attempts(publication)
    refusals = publication.store.refusals

    for now in range(20, 30):
        publication.want(float(now))
        publication.attempt(FOUND, float(now))

    assert publication.store.refusals == refusals


def test_what_changes_is_sent_again(site):
    publication = site("b")
    attempts(publication)
    publication.source.slices = pool_of(["a", "d", "c"])

    attempts(publication)

    assert published(publication) == ["a", "d", "c"]
    assert 'tangram_agent_refused_entries{kind="ResourceSlice"} 0.0\n' in publication.metrics.text()


def test_once_the_server_may_be_another_one_it_is_asked_again(site):
    publication = site("b")
    attempts(publication)
    publication.store.refused.clear()

    publication.doubt()
    attempts(publication)

    assert published(publication) == ["a", "b", "c"]


def test_a_refusal_that_names_no_device_is_told_and_retried_as_ever(site, caplog):
    publication = site()
    publication.store._judge = lambda document: (_ for _ in ()).throw(Refused("spec: a policy says no"))
    publication.source.wanted = lambda found, ask: publication.source.slices

    publication.attempt(FOUND, 0.0)

    assert publication.due > 0.0
    assert caplog.messages == ["cannot publish ResourceSlices: spec: a policy says no; it is retried"]
