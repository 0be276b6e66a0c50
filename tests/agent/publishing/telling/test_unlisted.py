"""GPUs outside the driver: published only with their taint, counted, and told once for each change."""

from __future__ import annotations

import logging

import pytest
from dead_gpus import bound, rebooted

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.publishing.forms import TAINTS, Form, Found, Taken, Verdict, documents, judge
from agent.publishing.metrics import Metrics
from agent.publishing.telling.unlisted import Unlisted
from agent.slices import composite_slices
from scheduler_core.model.ownership import CONTROLLER, OWNER

SECOND, FOURTH = "0000:18:00.0", "0000:87:00.0"


class Board:
    """Keeps what is told, as a cluster keeps Events."""

    def __init__(self):
        self.told = []

    def warn(self, reason, text):
        self.told.append(("Warning", reason, text))

    def note(self, reason, text):
        self.told.append(("Normal", reason, text))


@pytest.fixture
def machine(tmp_path):
    return SimulatedMachine.open(load_node("a30x4"), tmp_path / "a30x4")


@pytest.fixture
def look(machine):
    def found(*dead, allocator=""):
        inventory = discover(rebooted(simulated_hardware(machine), dead=dead).readers, "node-1")
        return Found(describe(inventory), allocator=allocator)

    return found


def published(found, verdict):
    slices = documents(found, verdict)
    return {one["name"]: one for slice_ in slices for one in slice_["spec"].get("devices", ())}


@pytest.mark.parametrize("form", list(Form))
def test_in_every_form_it_is_published_with_its_taint(form, look):
    found = published(look(SECOND), Verdict(form))

    assert [taint["effect"] for taint in found["gpu-1"]["taints"]] == ["NoSchedule"]
    assert not any("taints" in one for name, one in found.items() if name != "gpu-1")


@pytest.mark.parametrize("form", list(Form))
def test_where_the_server_drops_taints_it_is_withheld_since_it_would_seem_free(form, look):
    drops = Verdict(form, lost=frozenset({TAINTS}))

    assert "gpu-1" not in published(look(SECOND), drops)
    assert drops.is_full is Verdict(form).is_full


def test_the_server_is_asked_whether_it_keeps_the_taint(look):
    asked = []

    def ask(slices):
        asked.extend(slices)
        return Taken(frozenset({TAINTS}))

    verdict = judge(look(SECOND), ask)

    assert any(TAINTS in one for slice_ in asked for one in slice_["spec"].get("devices", ()))
    assert "gpu-1" not in published(look(SECOND), verdict)


def test_in_the_composite_slices_it_is_not_there(look):
    names = {one.name for slice_ in composite_slices(look(SECOND).devices) for one in slice_.devices}

    assert "gpu-0" in names
    assert "gpu-1" not in names


def test_on_a_node_of_the_controller_it_has_both_taints(look):
    found = published(look(SECOND, allocator=CONTROLLER), Verdict(Form.SEPARATE))["gpu-1"]

    assert [taint["key"] for taint in found["taints"]] == ["tangram.dev/gpu-not-in-driver", OWNER]


def series(metrics):
    lines = metrics.text().splitlines()
    return [one for one in lines if one.startswith("tangram_agent_unlisted_gpus{")]


def test_what_changes_is_told_once_and_counted(look, machine, caplog):
    metrics, board = Metrics(), Board()
    unlisted = Unlisted(metrics, board)

    with caplog.at_level(logging.WARNING):
        for dead in [(), (SECOND,), (SECOND,), (SECOND, FOURTH)]:
            unlisted.discovered(look(*dead))

    assert [(kind, reason) for kind, reason, _ in board.told] == [("Warning", "GpusNotInDriver")] * 2
    assert [text.split(":")[0] for _, _, text in board.told] == ["gpu-1", "gpu-3"]
    assert series(metrics) == ['tangram_agent_unlisted_gpus{reason="dead"} 2.0']
    assert caplog.text.count(f"gpu-1: on PCI at {SECOND}") == 1

    unlisted.discovered(look())
    assert board.told[-1][:2] == ("Normal", "GpusInDriver")
    assert series(metrics) == []


def test_a_gpu_that_was_given_to_user_space_is_no_warning(look, machine):
    bound(machine.root, SECOND, "vfio-pci")
    board = Board()

    Unlisted(Metrics(), board).discovered(look(SECOND))

    assert [(kind, reason) for kind, reason, _ in board.told] == [("Normal", "GpusNotInDriver")]


def test_an_event_names_three_gpus_and_the_number_of_the_others(look):
    board = Board()

    Unlisted(Metrics(), board).discovered(look("0000:17:00.0", SECOND, "0000:86:00.0", FOURTH))

    ((_, _, text),) = board.told
    assert text.endswith("and 1 more; the agent's log has all of them")
    assert len(text.encode()) <= 1024
