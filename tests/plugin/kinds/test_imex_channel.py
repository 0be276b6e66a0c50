"""IMEX channels: offered on request, given as one device node, to one claim at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import NotFound
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.fabric.imex import read_imex_channels
from agent.inventory.model import NodeDevices
from agent.inventory.published import ImexChannel
from daemon.command_line import InvalidOption
from plugin.base.errors import ClaimUnusable, DeviceHeld, HardwareFailed
from plugin.kinds.health import Health

DEVICES = "proc/devices"


@pytest.fixture
def bench(linked_bench: Any) -> Any:
    return linked_bench


def described(folder: Path, count: int, node: str = "a100x2") -> NodeDevices:
    machine = simulated_hardware(SimulatedMachine.open(load_node(node), folder / node))
    return describe(replace(discover(machine.readers, node), imex_channels=count))


def without_channels(bench: Any) -> None:
    """Load the driver without IMEX channels."""
    file = bench.simulated.root / DEVICES
    file.write_text("".join(line for line in file.read_text().splitlines(True) if "imex" not in line))


def test_no_channel_is_offered_unless_somebody_asks(tmp_path: Path) -> None:
    assert not any(isinstance(one, ImexChannel) for one in described(tmp_path, 0).by_name.values())


def test_the_first_channels_are_offered_with_type_and_number(tmp_path: Path) -> None:
    devices = described(tmp_path, 2)
    found = {
        str(one.name): dict(one.attributes) for one in devices.pool.devices if one.name.startswith("imex")
    }

    assert found == {
        "imex-channel-0": {"tangram.dev/type": "imex-channel", "tangram.dev/channel": 0},
        "imex-channel-1": {"tangram.dev/type": "imex-channel", "tangram.dev/channel": 1},
    }


def test_a_driver_without_channels_is_told(bench: Any) -> None:
    without_channels(bench)
    found = discover(bench.machine.readers, bench.node)

    devices = describe(replace(found, imex_channels=2))

    assert not any(isinstance(one, ImexChannel) for one in devices.by_name.values())
    assert devices.left_out == (
        "IMEX channels: the driver has no IMEX channels; the operator loads it with NVreg_ImexChannelCount",
    )


def test_a_node_without_gpus_offers_none(tmp_path: Path) -> None:
    assert not any(name.startswith("imex") for name in described(tmp_path, 2, "no-gpu").by_name)


@pytest.mark.parametrize("count", [-1, 2049])
def test_a_count_beyond_the_drivers_is_refused(count: int) -> None:
    with pytest.raises(InvalidOption, match=r"--imex-channels.*from 0 to 2048"):
        read_imex_channels(count)


def test_the_container_gets_one_node_that_its_runtime_makes_from_numbers(bench: Any) -> None:
    bench.prepare("u1", "imex-channel-1")

    (device,) = json.loads(bench.document("u1").read_text())["devices"]
    edits = device["containerEdits"]
    assert edits["deviceNodes"] == [
        {"path": "/dev/nvidia-caps-imex-channels/channel1", "type": "c", "major": 512, "minor": 1}
    ]
    assert edits["env"] == ["TANGRAM_DEVICE_IMEX_CHANNEL_1=1"]
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_a_channel_belongs_to_one_claim_and_goes_with_gpus_of_the_same_claim(bench: Any) -> None:
    bench.prepare("u1", "imex-channel-0", "gpu-0")

    with pytest.raises(DeviceHeld, match=r"imex-channel-0 .*claim-u1"):
        bench.prepare("u2", "imex-channel-0")

    bench.unprepare("u1")
    assert bench.prepare("u2", "imex-channel-0")[0].device == "imex-channel-0"


def test_nobody_looks_at_a_channel(bench: Any) -> None:
    with pytest.raises(ClaimUnusable, match="no admin access"):
        bench.look_at("u1", "imex-channel-0")


def test_channels_that_went_with_the_driver_are_ill_and_refused(bench: Any) -> None:
    bench.driver.health.read()
    without_channels(bench)

    health = {one.device: one.health for one in bench.driver.health.read()}
    with pytest.raises(HardwareFailed, match="NVreg_ImexChannelCount"):
        bench.prepare("u1", "imex-channel-0")

    assert health["imex-channel-0"] is Health.UNHEALTHY
    assert bench.leftovers() == []


def test_the_numbers_are_those_of_the_kernels_list(tmp_path: Path) -> None:
    root = DriverRoot(tmp_path)
    (tmp_path / "proc").mkdir()
    (tmp_path / DEVICES).write_text("Character devices:\n507 nvidia-caps\n\nBlock devices:\n")
    assert not root.has_imex_channels()
    with pytest.raises(NotFound, match="IMEX channel 3"):
        root.imex_channel_node(3)

    (tmp_path / DEVICES).write_text("Character devices:\n234 nvidia-caps-imex-channels\n\nBlock devices:\n")

    node = root.imex_channel_node(3)
    assert (node.host_path, node.major, node.minor) == (None, 234, 3)


def test_a_channel_that_is_no_longer_offered_stays_held_until_its_claim_ends(
    bench: Any,
) -> None:
    bench.prepare("u1", "imex-channel-1")
    bench.options = replace(bench.options, imex_channels=0)
    bench.restart()
    assert [record.claim_uid for record in bench.records()] == ["u1"]

    bench.unprepare("u1")

    assert bench.leftovers() == []
