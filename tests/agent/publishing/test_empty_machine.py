"""A machine with neither GPUs nor NICs is published as one empty slice, and then left in peace."""

from __future__ import annotations

from slice_keeper import Copied, Keeper

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.publishing.forms import Found
from agent.publishing.metrics import Metrics
from agent.publishing.publication import Clocks, Owner, Publication
from agent.publishing.sources import V1Source

NOTHING = """
name: nothing
summary: neither a GPU nor a NIC
topology: illustrative
driver: null
numa: [{node: 0, socket: 0, cpus: "0-15", distances: [10]}]
pci: []
"""


class SliceStore(Copied):
    """Keeps slices and counts the writes."""

    kind = "ResourceSlice"

    def __init__(self):
        self.keeper = Keeper()
        self.writes = 0

    def create(self, document, *, dry_run=False):
        if dry_run:
            return document
        self.writes += 1
        self.keeper.create(document)
        return self.keeper.all()[-1]


class Nodes:
    def uid(self, name):
        return "uid-of-node"


class NodeEvents:
    def warn(self, reason, text):
        raise AssertionError(f"there is nothing to warn of: {reason}: {text}")

    def note(self, reason, text):
        pass


def look(tmp_path):
    (tmp_path / "nothing.yaml").write_text(NOTHING)
    machine = SimulatedMachine.open(load_node(str(tmp_path / "nothing.yaml")), tmp_path / "machine")
    readers = simulated_hardware(machine).readers
    inventory = discover(readers, "node-1")
    return Found.of(inventory, describe(inventory, "d.example"))


def test_a_machine_with_neither_gpus_nor_nics_is_one_empty_slice_and_no_more_writes(tmp_path):
    store, metrics = SliceStore(), Metrics()
    clocks = Clocks(monotonic=lambda: 0.0, wall=lambda: 0.0, spread=lambda: 0.0)
    source = V1Source(metrics, NodeEvents())
    publication = Publication(store, source, Owner(Nodes(), "node-1"), metrics, clocks)

    for now in range(5):
        publication.attempt(look(tmp_path), float(now))

    (stored,) = store.keeper.all()
    assert not stored["spec"].get("devices")
    assert stored["spec"]["pool"]["resourceSliceCount"] == 1
    assert publication.is_done
    assert store.writes == 1
