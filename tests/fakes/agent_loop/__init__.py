"""An agent's loop on a time of its own, with a server that keeps slices and a machine that is told."""

from __future__ import annotations

import threading

from slice_keeper import Copied, Keeper, Undoubted

from agent.inventory.model import NodeDevices
from agent.publishing.forms import Found
from agent.publishing.loop import Agent
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Heard
from agent.publishing.publication import Clocks, Owner, Publication
from scheduler_core.model.pool import Pool, PoolId

FOUND = Found(NodeDevices(shared=(), groups=(), by_name={}, pool=Pool(id=PoolId("d.example", "node-1"))))
STEP_S = 30.0  # how far the loop's time goes whenever it is asked for


class Time:
    """Time that goes fast and never stands still, so that nothing here waits for real back-off."""

    def __init__(self, step_s):
        self.now, self._step_s = 0.0, step_s
        self.asked = lambda: None

    def __call__(self):
        self.asked()
        self.now += self._step_s
        return self.now


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


class Source(Undoubted):
    """Wants one slice; asked for it, it may fail."""

    def __init__(self, wanted):
        self._wanted = wanted
        self.allocators = []

    def wanted(self, found, ask):
        self.allocators.append(found.allocator)
        return self._wanted()


class SliceStore(Copied):
    """Keeps slices, tells of none but the first time, and calls when one is stored."""

    kind = "ResourceSlice"

    def __init__(self, stored):
        self.keeper = Keeper()
        self._stored = stored
        self.is_listed = False

    def create(self, document, *, dry_run=False):
        self.keeper.create(document)
        self._stored()
        return self.keeper.all()[-1]

    def changes(self, stop):
        self.is_listed = True
        yield Heard(is_new=True)
        stop.wait()


class OwnNode:
    """A node whose label has these values, one after the other, each after a permission."""

    kind = "Node"

    def __init__(self, *values):
        self.allocator, self._values, self.may_go_on = None, values, threading.Semaphore(1)

    def changes(self, stop):
        for value in self._values:
            self.may_go_on.acquire()
            self.allocator = value
            yield Heard(is_new=True)
        stop.wait()


class GpusOfPools:
    """GPUs of pools of several nodes: these values, one after the other, each after a permission."""

    kind = "ResourceSlice"

    def __init__(self, *values):
        self.pools, self._values, self.may_go_on = None, values, threading.Semaphore(1)

    def changes(self, stop):
        for value in self._values:
            self.may_go_on.acquire()
            self.pools = value
            yield Heard(is_new=True)
        stop.wait()


class Nodes:
    def uid(self, name):
        return "uid-of-node"


class Site:
    """An agent that usually stops once it has published."""

    def __init__(
        self,
        discover,
        wanted,
        resync_s=3600.0,
        ends_when_stored=True,
        step_s=STEP_S,
        labels=("",),
        gpus_of_pools=None,
    ):
        self.metrics = Metrics()
        self.heard = []
        self.node = OwnNode(*labels)
        self.time = Time(step_s)
        clocks = Clocks(monotonic=self.time, wall=lambda: 0.0, spread=lambda: 0.0)
        self.store = SliceStore(self.stop if ends_when_stored else lambda: None)
        owner = Owner(Nodes(), "node-1")
        self.publication = Publication(self.store, Source(wanted), owner, self.metrics, clocks)
        self.agent = Agent(
            discover=discover,
            publications=(self.publication,),
            node=self.node,
            gpus_of_pools=gpus_of_pools or GpusOfPools({}),
            machine_events=(),
            metrics=self.metrics,
            clocks=clocks,
            resync_s=resync_s,
            hear=self._hear,
        )

    def _hear(self, found):
        self.heard.append(found)

    def stop(self):
        self.agent.stop()

    def run(self):
        thread = threading.Thread(target=self.agent.run, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
