"""The agent's loop survives unexpected errors, and logs each once, with its traceback."""

from __future__ import annotations

import itertools
import logging
import re
from dataclasses import replace

import pytest
from agent_loop import FOUND, STEP_S, Failing, GpusOfPools, Site
from slice_keeper import pool_of

from agent.publishing.errors import Unreachable
from scheduler_core.model.ownership import CONTROLLER


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.WARNING)
    return caplog


def test_what_a_discovery_found_is_told_before_it_is_published():
    site = Site(Failing(0, FOUND), Failing(0, pool_of(["a"])))
    told_at = []
    site.store._stored = lambda: (told_at.append(len(site.heard)), site.stop())

    site.run()

    assert told_at == [1]
    assert site.heard == [FOUND]


def test_the_first_slices_are_stored_after_one_look_and_without_a_wait():
    """Slices appear long after the start of the driver (k8s-dra-driver-gpu #902)."""
    discover, stored_at = Failing(0, FOUND), []
    site = Site(discover, Failing(0, pool_of(["a"])), resync_s=1e12, step_s=0.001)
    site.store._stored = lambda: (stored_at.append(site.time.now), site.stop())

    site.run()

    assert discover.calls == 1
    assert stored_at[0] < 0.15  # the shortest wait of the loop


def test_an_unexpected_error_during_discovery_is_logged_once_with_its_traceback_and_retried(said):
    discover = Failing(3, FOUND)
    site = Site(discover, Failing(0, pool_of(["a"])))

    site.run()

    (record,) = said.records
    assert discover.calls == 4
    assert len(site.store.keeper.all()) == 1
    assert "unexpected error during discovery" in record.getMessage()
    assert record.exc_info[0] is IndexError
    assert 'tangram_agent_unforeseen_failures_total{of="discovery"} 3.0\n' in site.metrics.text()
    assert "tangram_agent_discovery_failures_total 3.0\n" in site.metrics.text()


def test_an_unexpected_error_while_publishing_is_logged_once_with_its_traceback_and_retried(said):
    wanted = Failing(3, pool_of(["a"]))
    site = Site(Failing(0, FOUND), wanted)

    site.run()

    (record,) = said.records
    assert wanted.calls == 4
    assert len(site.store.keeper.all()) == 1
    assert "unexpected error while publishing ResourceSlices" in record.getMessage()
    assert record.exc_info[0] is IndexError
    assert 'tangram_agent_unforeseen_failures_total{of="ResourceSlice"} 3.0\n' in site.metrics.text()
    assert 'tangram_agent_failures_total{kind="ResourceSlice"} 3.0\n' in site.metrics.text()


def test_the_agent_is_unhealthy_as_long_as_discovery_fails_unexpectedly():
    discoveries = Failing(11, FOUND)
    idle = []

    def discover():
        idle.append(site.agent.idle_s())
        if len(idle) == 15:
            site.stop()
        return discoveries()

    site = Site(discover, Failing(0, pool_of(["a"])), resync_s=1.0, ends_when_stored=False)

    site.run()

    assert idle[0] == STEP_S
    assert idle[:12] == sorted(set(idle[:12]))
    assert idle[10] > 300.0
    assert idle[14] == STEP_S


class GoneServer:
    """Wants something of a server that does not answer, notes when, and stops the agent at last."""

    def __init__(self, times):
        self.attempts, self._times = [], times

    def __call__(self):
        self.attempts.append(self.site.time.now)
        if len(self.attempts) == self._times:
            self.site.stop()
        raise Unreachable("cannot ask about ResourceSlices: connection refused")

    def run(self, discover):
        """Run an agent that reads the machine all the time; return the waits between the attempts."""
        self.site = Site(discover, self, resync_s=0.0, step_s=0.01)
        self.site.run()
        return [later - earlier for earlier, later in itertools.pairwise(self.attempts)]


def test_however_often_the_machine_is_looked_at_a_server_that_fails_is_asked_ever_more_slowly():
    discoveries = Failing(0, FOUND)

    waits = GoneServer(6).run(discoveries)[1:]  # before the second attempt, the watch tells what is there

    assert all(wait >= least for wait, least in zip(waits, (0.5, 1.0, 2.0, 4.0), strict=True))
    assert discoveries.calls > 100


def test_a_change_of_the_machine_is_published_at_once_even_while_the_server_fails():
    instances = itertools.count()

    waits = GoneServer(5).run(lambda: replace(FOUND, instances=(next(instances),)))

    assert max(waits) < 0.25


def test_nothing_is_published_before_the_node_has_said_who_allocates():
    site = Site(Failing(0, FOUND), Failing(0, pool_of(["a"])), labels=(CONTROLLER,), resync_s=0.0)
    site.node.may_go_on.acquire()
    discoveries = itertools.count()
    site.agent._hear_found = lambda _: next(discoveries) == 100 and site.node.may_go_on.release()

    site.run()

    assert next(discoveries) > 100
    assert set(site.publication.source.allocators) == {CONTROLLER}


def test_a_label_that_changes_is_heard_without_another_look_at_the_machine():
    discover = Failing(0, FOUND)
    site = Site(discover, Failing(0, pool_of(["a"])), labels=("", CONTROLLER, ""), ends_when_stored=False)
    seen = []

    def publish(*_):
        value = site.publication.source.allocators[-1]
        if seen[-1:] != [value]:
            seen.append(value)
            site.node.may_go_on.release()
        if len(seen) == 3:
            site.stop()
        return pool_of(["a"])

    site.publication.source._wanted = publish

    site.run()

    assert seen == ["", CONTROLLER, ""]
    assert discover.calls == 1


def test_nothing_is_looked_at_before_the_gpus_of_pools_are_known():
    pools = GpusOfPools(*[None] * 20, {})
    looks = []

    def discover():
        looks.append(pools.pools)
        return FOUND

    site = Site(discover, Failing(0, pool_of(["a"])), gpus_of_pools=pools)
    site.time.asked = pools.may_go_on.release  # each turn asks for the time, and is heard by the watch

    site.run()

    assert looks
    assert None not in looks


def test_a_change_of_the_gpus_of_pools_is_another_look_at_the_machine():
    pools = GpusOfPools({}, {0: "multi-node/gpus"})
    looks = []

    def discover():
        looks.append(pools.pools)
        if pools.pools:
            site.stop()
        pools.may_go_on.release()
        return FOUND

    site = Site(discover, Failing(0, pool_of(["a"])), ends_when_stored=False, gpus_of_pools=pools)

    site.run()

    assert looks[-1] == {0: "multi-node/gpus"}


def test_while_something_cannot_be_read_looks_come_soon_and_ever_later_and_then_as_ever():
    looked_at, waits = [0.0], []

    def discover():
        waits.append(site.agent._discovery_due - looked_at[-1])
        looked_at.append(site.time.now)
        if len(waits) == 7:
            site.stop()
        return replace(FOUND, is_whole=len(waits) == 7)

    site = Site(discover, Failing(0, pool_of(["a"])), resync_s=300.0, ends_when_stored=False)

    site.run()

    assert waits[1:] == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0]
    assert site.agent._discovery_due - looked_at[-1] == 300.0


def test_writes_are_timed_and_slices_are_measured():
    site = Site(Failing(0, FOUND), Failing(0, pool_of(["a", "b"])))

    site.run()

    text = site.metrics.text()
    assert 'tangram_agent_publishing_seconds_count{kind="ResourceSlice"} 1.0\n' in text
    assert 'tangram_agent_slice_devices{kind="ResourceSlice"} 2.0\n' in text
    assert 'tangram_agent_devices{state="offered",type="other"} 2.0\n' in text
    assert re.search(r'tangram_agent_slice_bytes\{kind="ResourceSlice"\} \d{3}\.0\n', text)


def test_devices_are_judged_anew_when_their_health_changed():
    site = Site(Failing(0, FOUND), Failing(0, pool_of(["a"])), resync_s=1e12, ends_when_stored=False)
    stored, judged_after = [], []

    def judge(found):
        if stored:
            judged_after.append(found)
            site.stop()
        return found

    site.agent._judge = judge
    site.store._stored = lambda: (stored.append(True), site.agent.health_changed())
    site.run()

    assert judged_after
