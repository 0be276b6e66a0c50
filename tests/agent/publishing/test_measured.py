"""What the agent's metrics say of devices, taints, slices and GPUs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dead_gpus import rebooted

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import Unreadable
from agent.inventory import describe, discover
from agent.publishing.forms import Form, Found, Verdict, documents
from agent.publishing.measured import devices_by_state, size_of, taints
from agent.publishing.metrics import Metrics
from agent.publishing.telling.counting import CountedEvents, read_gpus

SECOND = "0000:18:00.0"


@pytest.fixture
def read(tmp_path):
    machine = SimulatedMachine.open(load_node("a30x4"), tmp_path / "a30x4")

    def found(*dead):
        return discover(rebooted(simulated_hardware(machine), dead=dead).readers, "node-1")

    return found


@pytest.mark.parametrize("driver", ["tangram.dev", "gpu.nvidia.com"])
def test_devices_are_counted_by_type_and_state(read, driver):
    found = Found(describe(read(SECOND), driver))
    slices = documents(found, Verdict(Form.SEPARATE))

    counts = {tuple(value for _, value in labels): n for labels, n in devices_by_state(slices, ()).items()}

    assert counts["gpu", "offered"] == 3
    assert counts["gpu-not-in-driver", "tainted"] == 1
    assert sum(counts.values()) == sum(len(one["spec"].get("devices", ())) for one in slices)
    assert {kind for kind, _ in counts} >= {"gpu", "mig"}


def test_a_device_that_is_withheld_is_counted_although_it_is_in_no_slice(read):
    found = Found(describe(read()))
    withheld = [type("Withheld", (), {"kind": "nic"})()]

    assert (
        devices_by_state(documents(found, Verdict(Form.SEPARATE)), withheld)[
            ("type", "nic"), ("state", "withheld")
        ]
        == 1
    )


def test_taints_are_counted_by_key_and_effect(read):
    slices = documents(Found(describe(read(SECOND))), Verdict(Form.SEPARATE))

    assert taints(slices) == {
        (
            ("type", "gpu-not-in-driver"),
            ("taint", "tangram.dev/gpu-not-in-driver"),
            ("effect", "NoSchedule"),
        ): 1.0
    }


def test_the_size_of_slices_is_their_length_as_json():
    assert size_of(({"a": 1}, {"b": "ä"})) == len(b'{"a":1}') + len('{"b":"ä"}'.encode())


def test_a_gpu_that_pci_shows_and_the_driver_does_not_list_is_expected_and_not_found(read):
    metrics = Metrics()

    read_gpus(metrics, read(SECOND))

    assert "tangram_agent_gpus_expected 4.0\n" in metrics.text()
    assert "tangram_agent_gpus_found 3.0\n" in metrics.text()


def test_a_device_that_cannot_be_read_counts_nvmls_code(read):
    metrics = Metrics()
    reason = "read on GPU 1 failed: NVML answered GPU_IS_LOST (15); the operator resets it"

    read_gpus(metrics, replace(read(), unreadable=(Unreadable("GPU 1", reason),)))

    assert 'errors_total{error="Unreadable",nvml="GPU_IS_LOST",of="device"} 1.0\n' in metrics.text()


def test_events_about_the_node_are_counted_and_written():
    metrics, told = Metrics(), []
    board = type("Board", (), {"warn": lambda _, *said: told.append(said), "note": lambda _, *said: None})()
    events = CountedEvents(board, metrics)

    events.warn("GpusNotInDriver", "gpu-1 is dead")
    events.note("GpusInDriver", "gpu-1 is back")

    assert told == [("GpusNotInDriver", "gpu-1 is dead")]
    assert 'tangram_agent_node_events_total{reason="GpusNotInDriver",type="Warning"} 1.0\n' in metrics.text()
    assert 'tangram_agent_node_events_total{reason="GpusInDriver",type="Normal"} 1.0\n' in metrics.text()
