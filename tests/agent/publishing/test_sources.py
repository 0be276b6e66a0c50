"""What is wanted follows what the server was asked about, and is told when it changes."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import GpuInstance
from agent.inventory import describe, discover
from agent.publishing.forms import Form, Found, Taken
from agent.publishing.metrics import Metrics
from agent.publishing.sources import CompositeSource, V1Source
from scheduler_core.model.ownership import CONTROLLER

GATE = frozenset({"sharedCounters", "consumesCounters"})


class Noticeboard:
    """Keeps what is told, as a cluster keeps Events."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def warn(self, reason: str, text: str) -> None:
        self.reasons.append(reason)

    def note(self, reason: str, text: str) -> None:
        self.reasons.append(reason)


class Server:
    """Answers what it is asked and counts how often."""

    def __init__(self) -> None:
        self.lost: frozenset[str] = frozenset()
        self.asked = 0

    def ask(self, slices):
        self.asked += 1
        sent = {field for one in slices for device in one["spec"].get("devices", ()) for field in device}
        sent |= {field for one in slices for field in one["spec"]}
        return Taken(self.lost & sent)


@pytest.fixture(scope="module")
def inventory(tmp_path_factory):
    machine = SimulatedMachine.open(load_node("a100x2"), tmp_path_factory.mktemp("machine"))
    return discover(simulated_hardware(machine).readers, "node-1")


@pytest.fixture
def found(inventory):
    return Found.of(inventory, describe(inventory))


@pytest.fixture
def cut(found, inventory):
    """The same node with one instance."""
    gpu = inventory.gpus[0]
    smallest = min(gpu.profiles, key=lambda profile: profile.compute_slices)
    instance = GpuInstance(gpu.gpu.uuid, 1, smallest.profile_id, smallest.placements[0])
    return replace(found, instances=(instance,))


@pytest.fixture
def board():
    return Noticeboard()


@pytest.fixture
def source(board):
    return V1Source(Metrics(), board)


@pytest.fixture
def server():
    return Server()


def test_the_server_is_asked_once_and_not_again(source, server, found):
    first = source.wanted(found, server.ask)

    assert source.wanted(found, server.ask) == first
    assert server.asked == 1


def test_an_instance_changes_nothing_where_the_server_counts(source, server, found, cut):
    before = source.wanted(found, server.ask)

    assert source.wanted(cut, server.ask) is before


def test_an_instance_stands_for_its_gpu_where_the_server_does_not_count(source, server, found, cut):
    server.lost = GATE
    before = source.wanted(found, server.ask)

    after = source.wanted(cut, server.ask)

    assert _names(before) == ["gpu-0", "gpu-1"]
    assert _names(after)[1:] == ["gpu-1"]
    assert _names(after)[0].startswith("gpu-0-mig-")
    assert source.wanted(found, server.ask) == before


def test_composite_slices_follow_the_devices(inventory, found):
    source = CompositeSource()
    bare = replace(inventory, gpus=())

    before = source.wanted(found, lambda _: Taken())
    without = source.wanted(Found.of(bare, describe(bare)), lambda _: Taken())

    assert before != without
    assert source.wanted(found, lambda _: Taken()) == before


def test_after_a_doubt_the_server_is_asked_again(source, server, found):
    source.wanted(found, server.ask)
    source.doubt()

    source.wanted(found, server.ask)

    assert server.asked == 2


def test_what_was_never_asked_about_is_asked_before_it_is_published(source, server, inventory, found):
    """A driver that is loaded later brings counters: slices without them told nothing."""
    server.lost = GATE
    bare = replace(inventory, gpus=())
    source.wanted(Found.of(bare, describe(bare)), server.ask)

    wanted = source.wanted(found, server.ask)

    assert not any("sharedCounters" in one["spec"] for one in wanted)


def test_a_gate_that_goes_and_comes_back_is_told_once_each(source, server, found, board, caplog):
    caplog.set_level(logging.INFO)
    source.wanted(found, server.ask)

    for lost in (GATE, GATE, frozenset()):
        server.lost = lost
        source.doubt()
        source.wanted(found, server.ask)

    assert board.reasons == ["PartitionsNotPublished", "PartitionsPublished"]
    assert sum("only devices that cannot overlap" in record.message for record in caplog.records) == 1


def test_a_loss_that_only_a_real_write_showed_changes_what_is_wanted_once(source, server, found):
    full = source.wanted(found, server.ask)

    assert source.lost(GATE)
    assert source.wanted(found, server.ask) != full
    assert not source.is_full
    assert not source.lost(GATE)


def test_the_metrics_name_the_form_and_what_is_dropped(server, found, board):
    metrics = Metrics()
    server.lost = GATE

    V1Source(metrics, board).wanted(found, server.ask)

    assert f'tangram_agent_form{{form="{Form.FIXED}"}} 1' in metrics.text()
    assert 'tangram_agent_dropped_field{field="consumesCounters"} 1.0' in metrics.text()


def test_the_server_is_asked_about_taints_before_the_first_one_is_sent(source, server, found):
    plain = source.wanted(found, server.ask)

    marked = source.wanted(replace(found, allocator=CONTROLLER), server.ask)

    assert server.asked == 2
    assert marked != plain
    assert source.wanted(found, server.ask) == plain


def test_where_the_server_drops_taints_everything_is_published_and_it_is_asked_again(
    source, server, found, board
):
    server.lost = frozenset({"taints"})
    plain = source.wanted(found, server.ask)

    owned = replace(found, allocator=CONTROLLER)
    assert source.wanted(owned, server.ask) == plain
    assert not source.is_full  # so that the loop asks again now and then
    assert board.reasons == []  # Ownership tells it, from what was stored

    server.lost = frozenset()
    source.doubt()
    assert source.wanted(owned, server.ask) != plain
    assert source.is_full


def _names(slices):
    return [device["name"] for one in slices for device in one["spec"].get("devices", ())]
