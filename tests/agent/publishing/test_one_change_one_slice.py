"""Losing a GPU, or another number of VFs, writes one slice of each form; the pool stays complete."""

from __future__ import annotations

from dataclasses import replace

import pytest
from slice_keeper import Keeper

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import Unreadable
from agent.inventory import describe, discover, offered
from agent.inventory.numbers.unlisted import UnlistedGpu, why_unlisted
from agent.publishing.forms import Found, Taken
from agent.publishing.metrics import Metrics
from agent.publishing.sources import CompositeSource, V1Source
from scheduler_core.publishing.names import as_stored, renamed
from scheduler_core.publishing.plan import plan


class Nobody:
    def warn(self, reason, text):
        pass

    note = warn


class Server:
    """Keeps the slices of one kind for one agent after the other; knows which were written."""

    def __init__(self, make, lost=frozenset()):
        self.keeper, self._make, self._lost = Keeper(), make, frozenset(lost)
        self.start()

    def start(self):
        """A new agent begins."""
        self.source = self._make()
        self.source.adopt(sorted(self.keeper.all(), key=lambda one: one["metadata"]["name"]))

    def publish(self, inventory):
        """Publish and return the names that were written; no write leaves the pool incomplete."""
        found = Found.of(inventory, describe(offered(inventory)))
        stored = self.keeper.all()
        writes = plan(as_stored(self.source.wanted(found, self._ask), stored), stored)
        is_first = not self.keeper.all()
        for write in writes:
            self.keeper.apply(write)
            assert is_first or len(writes) > 1 or self.keeper.pool() is not None
        return [write.document["metadata"]["name"] for write in writes]

    def _ask(self, slices):
        sent = {field for one in slices for device in one["spec"].get("devices", ()) for field in device}
        sent |= {field for one in slices for field in one["spec"]}
        return Taken(self._lost & sent)


GATE_OFF = {"sharedCounters", "consumesCounters"}
FORMS = {
    "v1": lambda: Server(lambda: V1Source(Metrics(), Nobody())),
    "v1 without counters": lambda: Server(lambda: V1Source(Metrics(), Nobody()), GATE_OFF),
    "composite": lambda: Server(CompositeSource),
}


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    machine = SimulatedMachine.open(load_node("dgx-a100"), tmp_path_factory.mktemp("machine"))
    return discover(simulated_hardware(machine).readers, "node-1")


@pytest.fixture(params=FORMS)
def server(request):
    return FORMS[request.param]()


def without_gpu(node, number):
    return replace(node, gpus=tuple(one for one in node.gpus if one.gpu.number != number))


def with_vfs(node, number, count):
    """The node, whose NIC of a number has so many VFs."""
    nics = list(node.nics)
    nics[number] = replace(nics[number], vfs=nics[number].vfs[:count])
    return replace(node, nics=tuple(nics))


@pytest.mark.parametrize("number", [0, 3, 7])
def test_losing_one_gpu_writes_one_slice_and_its_return_the_same_one(node, server, number):
    server.publish(node)
    before = server.keeper.pool()

    lost = server.publish(without_gpu(node, number))
    back = server.publish(node)

    assert len(lost) == 1
    assert back == lost
    assert [one["spec"] for one in server.keeper.pool()] == [one["spec"] for one in before]


@pytest.mark.parametrize("number", [0, 4])
def test_another_number_of_vfs_writes_one_slice(node, server, number):
    server.publish(node)

    fewer = server.publish(with_vfs(node, number, 3))
    more = server.publish(node)

    assert len(fewer) == 1
    assert more == fewer


def test_a_look_that_finds_nothing_new_writes_nothing(node, server):
    server.publish(node)

    assert server.publish(node) == []


def test_an_agent_that_starts_while_a_gpu_is_lost_moves_nothing(node, server):
    server.publish(node)
    server.publish(without_gpu(node, 2))

    server.start()

    assert server.publish(without_gpu(node, 2)) == []
    assert len(server.publish(node)) == 1


def test_an_agent_that_starts_while_slices_have_other_names_moves_nothing(node, server):
    """Somebody else had the usual names of these slices when they were created."""
    server.publish(node)
    for one in server.keeper.pool()[::2]:
        del server.keeper.objects[one["metadata"]["name"]]
        server.keeper.create(renamed(one, "0badc0de"))

    server.start()

    assert server.publish(node) == []
    assert len(server.publish(without_gpu(node, 2))) == 1


def test_a_lost_gpu_that_pci_shows_keeps_its_slice_when_patience_ends(node, server):
    server.publish(node)
    missing = next(one for one in node.gpus if one.gpu.number == 3)
    unreadable = Unreadable("GPU 3", "Xid 79", is_lost=True)
    listed = UnlistedGpu(3, missing.function, why_unlisted(missing.function, unreadable))
    server.publish(replace(node, remembered=frozenset({missing.gpu.uuid})))

    after = server.publish(replace(without_gpu(node, 3), unlisted=(listed,)))
    back = server.publish(node)

    assert len(after) == 1
    assert back == after


def test_an_agent_that_starts_after_somebody_deleted_a_slice_packs_anew(node, server):
    server.publish(node)
    name = server.keeper.pool()[-1]["metadata"]["name"]
    del server.keeper.objects[name]

    server.start()

    assert server.publish(node) == [name]


def test_stored_slices_that_nobody_can_read_are_replaced(node, server):
    server.publish(node)
    names = {one["metadata"]["name"] for one in server.keeper.all()}
    for one in server.keeper.objects.values():
        one["spec"]["pool"]["resourceSliceCount"] = -1

    server.start()

    assert set(server.publish(node)) == names
