"""Every GPU that PCI shows is told of, whether the driver lists it or not."""

from __future__ import annotations

import pytest
from dead_gpus import bound, rebooted

from agent.hardware.errors import HardwareFault
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import parse_fault
from agent.inventory import describe, discover
from agent.inventory.numbers.unlisted import TAINT, TYPE
from agent.inventory.withheld import Cause
from agent.slices import v1_slices

THIRD = "0000:86:00.0"


@pytest.fixture
def a30x4(machine):
    return machine("a30x4")


def read(machine, **missing):
    return discover(rebooted(simulated_hardware(machine), **missing).readers, "node-1")


def told(inventory):
    return [(one.number, one.function.bdf, one.reason.cause) for one in inventory.unlisted]


def test_on_a_sound_node_no_gpu_is_outside_the_driver(a30x4):
    inventory = read(a30x4)

    assert inventory.unlisted == ()
    assert [entry.gpu.number for entry in inventory.gpus] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("driver", "cause"),
    [
        ("nvidia", Cause.DEAD),
        ("vfio-pci", Cause.VFIO_DRIVER),
        ("nvgrace_gpu_vfio_pci", Cause.VFIO_DRIVER),
        ("nouveau", Cause.OTHER_DRIVER),
        (None, Cause.NO_DRIVER),
    ],
)
def test_a_gpu_that_the_driver_does_not_list_was_never_told_of(driver, cause, a30x4):
    bound(a30x4.root, THIRD, driver)

    inventory = read(a30x4, dead=[THIRD])

    assert told(inventory) == [(2, THIRD, cause)]
    assert [entry.gpu.number for entry in inventory.gpus] == [0, 1, 3]
    (sentence,) = map(str, inventory.unlisted)
    assert sentence.startswith(f"gpu-2: on PCI at {THIRD}, not in the driver: ")
    assert "the operator" in sentence


def test_a_gpu_that_the_driver_has_lost_is_told_of_with_the_drivers_reason(a30x4):
    a30x4.inject(parse_fault("gpu-2:lost"))

    inventory = read(a30x4)

    assert told(inventory) == [(2, THIRD, Cause.DEAD)]
    (unreadable,) = inventory.unreadable
    assert unreadable.reason in inventory.unlisted[0].reason.text


def test_a_gpu_of_which_one_value_cannot_be_read_is_told_of_with_the_drivers_reason(a30x4):
    a30x4.inject(parse_fault("gpu-2:nvmlDeviceGetMinorNumber:not-supported"))

    inventory = read(a30x4)

    assert told(inventory) == [(2, THIRD, Cause.UNREADABLE)]
    (unreadable,) = inventory.unreadable
    assert inventory.unlisted[0].reason.text == unreadable.reason


def test_a_gpu_whose_profiles_cannot_be_read_is_still_told_of(a30x4):
    a30x4.inject(parse_fault("gpu-2:profiles:timed-out"))

    assert told(read(a30x4)) == [(2, THIRD, Cause.UNREADABLE)]


def test_without_a_driver_all_gpus_of_a_node_are_told_of(a30x4):
    a30x4.inject(parse_fault("machine:gpus:driver-missing"))

    assert [number for number, _, _ in told(read(a30x4))] == [0, 1, 2, 3]


def test_a_virtual_function_of_a_gpu_is_no_gpu_and_moves_no_number(a30x4):
    folder = a30x4.root / "sys/bus/pci/devices" / THIRD
    (folder / "physfn").symlink_to(a30x4.root / "sys/bus/pci/devices/0000:17:00.0")

    inventory = read(a30x4, dead=[THIRD])

    assert inventory.unlisted == ()
    assert [entry.gpu.number for entry in inventory.gpus] == [0, 1, 2]


def test_where_pci_cannot_be_listed_the_drivers_gpus_are_numbered_by_their_addresses(a30x4, monkeypatch):
    def fail(*_):
        raise HardwareFault("list", "/sys/bus/pci/devices", "I/O error")

    monkeypatch.setattr("agent.hardware.sysfs.Sysfs.gpus", fail)

    inventory = read(a30x4)

    assert [entry.gpu.number for entry in inventory.gpus] == [0, 1, 2, 3]
    assert "GPUs on PCI" in [one.what for one in inventory.unreadable]


def devices(inventory):
    return {
        one["name"]: one
        for slice_ in v1_slices(describe(inventory))
        for one in slice_["spec"].get("devices", ())
    }


def test_it_is_published_with_its_place_and_a_taint_that_keeps_every_claim_away(a30x4):
    bound(a30x4.root, THIRD, "vfio-pci")
    before = devices(read(a30x4))["gpu-2"]["attributes"]

    found = devices(read(a30x4, dead=[THIRD]))["gpu-2"]

    assert found["taints"] == [{"key": TAINT, "value": "vfio-driver", "effect": "NoSchedule"}]
    attributes = found["attributes"]
    assert attributes.pop("type") == {"string": TYPE}
    assert attributes.items() <= before.items()
    assert {"resource.kubernetes.io/pciBusID", "resource.kubernetes.io/numaNode"} <= attributes.keys()
    assert found.keys() == {"name", "attributes", "taints"}


def test_no_device_is_cut_from_it(a30x4):
    found = devices(read(a30x4, dead=[THIRD]))

    assert [name for name in found if name.startswith("gpu-2")] == ["gpu-2"]
    assert len([name for name in found if name.startswith("gpu-1-")]) > 3
