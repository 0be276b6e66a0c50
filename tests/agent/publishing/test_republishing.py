"""An event of the kernel makes the agent look at the machine and publish what has changed."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
import uevents_of_kernel
from slice_keeper import Copied, Keeper, Undoubted, contents, pool_of
from uevents_of_kernel import Events, in_own_network

from agent.hardware.uevents import Uevents
from agent.inventory.model import NodeDevices
from agent.publishing.forms import Found
from agent.publishing.loop import Agent
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Heard
from agent.publishing.publication import Clocks, Owner, Publication
from scheduler_core.model.pool import Pool, PoolId

pytestmark = pytest.mark.skipif(
    uevents_of_kernel.why_not() is not None, reason=str(uevents_of_kernel.why_not())
)

FOUND = Found(NodeDevices(shared=(), groups=(), by_name={}, pool=Pool(id=PoolId("d.example", "node-1"))))
GPU = ("/devices/pci0000:00/0000:00:01.0/0000:07:00.0", "pci")


class Known:
    """What is known of the node from the start."""

    kind = "Node"
    allocator = ""

    def __init__(self) -> None:
        self.pools: dict[int, str] = {}

    def changes(self, stop):
        yield Heard(is_new=True)
        stop.wait()


class Nodes:
    def uid(self, name):
        return "uid-of-node"


class Store(Copied):
    """Keeps slices, and does something whenever one is written."""

    kind = "ResourceSlice"

    def __init__(self):
        self.keeper = Keeper()
        self.is_listed = False
        self.written = lambda: None

    def create(self, document, *, dry_run=False):
        self.keeper.create(document)
        self.written()
        return self.keeper.all()[-1]

    def replace(self, document):
        name = document["metadata"]["name"]
        known = self.keeper.objects[name]["metadata"]
        self.keeper.objects[name] = {**document, "metadata": {**known, "resourceVersion": "100"}}
        self.written()
        return self.keeper.objects[name]

    def changes(self, stop):
        self.is_listed = True
        yield Heard(is_new=True)
        stop.wait()


class Source(Undoubted):
    """Wants a slice that says what was found."""

    def wanted(self, found, ask):
        return pool_of([found.devices.left_out[0]])


class Machine:
    """Has one GPU more from the moment on at which the kernel tells of it: in the agent's second look."""

    def __init__(self, events: Events):
        self._events = events
        self.looks = 0

    def __call__(self):
        self.looks += 1
        if self.looks == 2:  # the first one that the agent made because it listens now
            self._events.by_kernel("add", *GPU)
        content = "one GPU" if self.looks <= 2 else "two GPUs"
        return replace(FOUND, devices=replace(FOUND.devices, left_out=(content,)))


def test_a_gpu_of_which_the_kernel_tells_is_published_without_waiting_for_the_slow_timer(tmp_path: Path):
    published = []

    def work(events: Events) -> None:
        store, metrics, clocks = Store(), Metrics(), Clocks(time.monotonic, time.time, lambda: 0.0)
        agent = Agent(
            discover=Machine(events),
            publications=(Publication(store, Source(), Owner(Nodes(), "node-1"), metrics, clocks),),
            node=Known(),
            gpus_of_pools=Known(),
            machine_events=(Uevents(tmp_path / "no udevd"),),
            metrics=metrics,
            clocks=clocks,
            resync_s=100_000.0,
        )

        def written() -> None:
            published[:] = contents(store.keeper.all())
            if published == ["two GPUs"]:
                agent.stop()

        store.written = written
        agent.run()

    in_own_network(work)

    assert published == ["two GPUs"]
