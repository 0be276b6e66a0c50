"""A taint whose write fails reaches the server at a later attempt, with nothing else happening."""

from __future__ import annotations

from dataclasses import replace

from slice_keeper import Copied, Keeper

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.health.causes import Cause
from agent.health.facts import facts_of
from agent.health.fold import looked
from agent.health.rules import HealthRules
from agent.health.state import HealthState, Key, Trouble
from agent.health.tainted import judged
from agent.inventory import discover
from agent.inventory.describer import Describer
from agent.publishing.errors import Unreachable
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.publication import Clocks, Owner, Publication
from agent.publishing.sources import V1Source
from scheduler_core.publishing.plan import Update


class SliceStore(Copied):
    """Keeps slices; the next changes of one fail as often as it is told."""

    kind = "ResourceSlice"

    def __init__(self):
        self.keeper, self.fails = Keeper(), 0

    def create(self, document, *, dry_run=False):
        if dry_run:
            return document
        self.keeper.create(document)
        return self.keeper.all()[-1]

    def replace(self, document):
        if self.fails:
            self.fails -= 1
            raise Unreachable("cannot update the slice: connection refused")
        self.keeper.apply(Update(document))
        return self.keeper.objects[document["metadata"]["name"]]

    def tainted(self):
        devices = [one for each in self.keeper.all() for one in each["spec"].get("devices", ())]
        return {one["name"] for one in devices if "taints" in one}


class Nodes:
    def uid(self, name):
        return "uid-of-node"


class NodeEvents:
    def warn(self, reason, text):
        pass

    def note(self, reason, text):
        pass


def looks(folder):
    """Return a look at a node that is well, and one at the same node with a GPU that must be reset."""
    machine = SimulatedMachine.open(load_node("a100x2"), folder)
    inventory = discover(simulated_hardware(machine).readers, "node-1")
    found = Found.of(inventory, Describer("d.example").devices(inventory))
    state = looked(HealthState("boot-1"), facts_of(inventory), HealthRules(), 0.0)
    gpu = machine.gpus.gpus()[0].uuid
    ill = replace(state, troubles={Key(target=gpu, cause=Cause.XID_RESET, xid=48): Trouble(0.0, 0.0, 1)})
    return found, replace(found, health=judged(found.devices, found.instances, ill, HealthRules()))


def test_a_taint_whose_write_fails_is_written_again_until_it_is_stored(tmp_path):
    """A failed publishing of health was never repeated (k8s-dra-driver-gpu #663)."""
    well, ill = looks(tmp_path / "machine")
    store, metrics = SliceStore(), Metrics()
    clocks = Clocks(monotonic=lambda: 0.0, wall=lambda: 0.0, spread=lambda: 0.0)
    source = V1Source(metrics, NodeEvents())
    publication = Publication(store, source, Owner(Nodes(), "node-1"), metrics, clocks)
    publication.attempt(well, 0.0)
    store.fails = 3

    for now_s in (100.0, 200.0, 300.0, 400.0):  # each later than any wait after a failure
        assert store.tainted() == set()
        publication.attempt(ill, now_s)

    assert store.tainted() == {name for name in ill.health if name.startswith("gpu-0")}
    publication.attempt(well, 500.0)
    assert store.tainted() == set()
