"""The agent's loop outlives errors that nobody foresaw, and says them once, with where they came from."""

from __future__ import annotations

import logging
import threading

import pytest
from slice_keeper import Keeper, pool_of

from agent.inventory.model import NodeDevices
from agent.publishing.forms import Found
from agent.publishing.loop import Agent
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Listed
from agent.publishing.publication import Clocks, Owner, Publication
from scheduler_core.model.pool import Pool, PoolId

FOUND = Found(NodeDevices(shared=(), groups=(), by_name={}, pool=Pool(id=PoolId("d.example", "node-1"))))
STEP_S = 30.0  # how far the loop's time goes whenever it is asked for


class Time:
    """Time that goes fast and never stands still, so that nothing here waits for real back-off."""

    def __init__(self):
        self.asked = 0

    def __call__(self):
        self.asked += 1
        return self.asked * STEP_S


class Failing:
    """Does something wrong a number of times, then right."""

    def __init__(self, times, answer):
        self.left, self.answer, self.calls = times, answer, 0

    def __call__(self, *_):
        self.calls += 1
        if self.left:
            self.left -= 1
            raise IndexError("tuple index out of range")
        return self.answer


class Source:
    """Wants one slice; asked for it, it may fail."""

    is_full = True

    def __init__(self, wanted):
        self._wanted = wanted

    def wanted(self, found, ask):
        return self._wanted()

    def lost(self, fields):
        return False

    def doubt(self):
        pass


class Shelf:
    """Keeps slices, tells of none but the first time, and calls when one is stored."""

    kind = "ResourceSlice"

    def __init__(self, stored):
        self.keeper = Keeper()
        self._stored = stored

    def create(self, document, *, dry_run=False):
        self.keeper.create(document)
        self._stored()
        return self.keeper.all()[-1]

    def changes(self, stop):
        yield Listed(())
        stop.wait()


class Nodes:
    def uid(self, name):
        return "uid-of-node"


class Site:
    """An agent that usually stops once it has published."""

    def __init__(self, look, wanted, resync_s=3600.0, ends_when_stored=True):
        self.metrics = Metrics()
        clocks = Clocks(monotonic=Time(), wall=lambda: 0.0, spread=lambda: 0.0)
        self.shelf = Shelf(self.stop if ends_when_stored else lambda: None)
        owner = Owner(Nodes(), "node-1")
        self.publication = Publication(self.shelf, Source(wanted), owner, self.metrics, clocks)
        self.agent = Agent(
            look=look,
            publications=(self.publication,),
            news=(),
            metrics=self.metrics,
            clocks=clocks,
            resync_s=resync_s,
        )

    def stop(self):
        self.agent.stop()

    def run(self):
        thread = threading.Thread(target=self.agent.run, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.WARNING)
    return caplog


def test_a_look_that_fails_as_nobody_foresaw_is_told_once_with_its_traceback_and_tried_again(said):
    look = Failing(3, FOUND)
    site = Site(look, Failing(0, pool_of(["a"])))

    site.run()

    (record,) = said.records
    assert look.calls == 4
    assert len(site.shelf.keeper.all()) == 1
    assert "looking at the machine failed" in record.getMessage()
    assert record.exc_info[0] is IndexError
    assert 'tangram_agent_unforeseen_failures_total{of="discovery"} 3\n' in site.metrics.text()
    assert "tangram_agent_discovery_failures_total 3\n" in site.metrics.text()


def test_an_attempt_that_fails_as_nobody_foresaw_is_told_once_with_its_traceback_and_tried_again(said):
    wanted = Failing(3, pool_of(["a"]))
    site = Site(Failing(0, FOUND), wanted)

    site.run()

    (record,) = said.records
    assert wanted.calls == 4
    assert len(site.shelf.keeper.all()) == 1
    assert "publishing ResourceSlices failed" in record.getMessage()
    assert record.exc_info[0] is IndexError
    assert 'tangram_agent_unforeseen_failures_total{of="ResourceSlice"} 3\n' in site.metrics.text()
    assert 'tangram_agent_failures_total{kind="ResourceSlice"} 3\n' in site.metrics.text()


def test_as_long_as_looks_fail_as_nobody_foresaw_the_agent_is_not_well_and_then_it_is_again():
    looks = Failing(11, FOUND)
    idle = []

    def look():
        idle.append(site.agent.idle_s())
        if len(idle) == 15:
            site.stop()
        return looks()

    site = Site(look, Failing(0, pool_of(["a"])), resync_s=1.0, ends_when_stored=False)

    site.run()

    assert idle[0] == STEP_S
    assert idle[:12] == sorted(set(idle[:12]))
    assert idle[10] > 300.0
    assert idle[14] == STEP_S
