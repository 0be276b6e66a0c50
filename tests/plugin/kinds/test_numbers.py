"""Records say which number each GPU had, so that a lost file gives no other GPU its name."""

from __future__ import annotations

from typing import Any

import pytest
from dead_gpus import rebooted

from agent.inventory.numbers.kept import NumbersUnknown
from agent.inventory.numbers.number_file import NumberFile
from plugin.assembly import assemble
from plugin.kinds.numbers import witnesses_in


def restarted(bench: Any, machine: Any = None, published: Any = tuple) -> Any:
    """Return the driver of a plugin that was started again."""
    return assemble(
        machine or bench.machine,
        bench.options,
        clock=bench.clock,
        sleep=bench.clock.sleep,
        published=published,
    )


def file_of(bench: Any) -> NumberFile:
    return NumberFile(bench.options.gpu_numbers_dir, bench.node)


def address(bench: Any, number: int) -> str:
    return str(bench.simulated.node.cards[number].site.bdf)


def test_records_say_which_address_each_number_belongs_to(bench: Any) -> None:
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    bench.prepare("u2", "gpu-1")

    devices = [device for record in bench.records() for device in record.devices]
    found = {one.address: one.number for one in witnesses_in(devices, bench.node)}

    assert found == {address(bench, 0): 0, address(bench, 1): 1}
    assert list(witnesses_in(devices, "another-pool")) == []


def test_the_plugin_keeps_the_numbers_that_a_reboot_with_a_dead_gpu_would_move(bench: Any) -> None:
    bench.prepare("u1", "gpu-0")
    bench.unprepare("u1")
    machine = rebooted(bench.machine, dead=[address(bench, 0)])

    driver = restarted(bench, machine)
    driver.reconcile()

    assert file_of(bench).read() == {address(bench, 0): 0, address(bench, 1): 1}
    assert set(driver._node.snapshot.gpus.values()) == {driver._node.snapshot.gpus[bench.uuid(1)]}
    assert driver._node.snapshot.devices.by_name["gpu-1"].gpu.uuid == bench.uuid(1)
    assert "gpu-0" not in driver._node.snapshot.devices.by_name


def test_a_claim_for_a_gpu_outside_the_driver_is_refused_with_the_reason(bench: Any) -> None:
    bench.inject("gpu-0:lost")

    with pytest.raises(Exception, match=f"gpu-0: on PCI at {address(bench, 0)}, not in the driver"):
        bench.prepare("u1", "gpu-0")


def published(bench: Any, **numbers: int) -> Any:
    """Return slices in which GPUs had other numbers, as under a driver that counted them otherwise."""
    values = {name: {"uuid": {"string": bench.uuid(card)}} for name, card in numbers.items()}
    devices = [{"name": name.replace("_", "-"), "attributes": found} for name, found in values.items()]
    return lambda: [{"spec": {"pool": {"name": bench.node, "generation": 1}, "devices": devices}}]


def test_a_plugin_that_is_updated_keeps_the_names_that_the_agent_published_by_minor(bench: Any) -> None:
    driver = restarted(bench, published=published(bench, gpu_0=1, gpu_1=0))

    assert driver._node.snapshot.devices.by_name["gpu-0"].gpu.uuid == bench.uuid(1)
    assert file_of(bench).read() == {address(bench, 1): 0, address(bench, 0): 1}


def test_records_count_more_than_slices(bench: Any) -> None:
    bench.prepare("u1", "gpu-1")
    file_of(bench).path.unlink()

    driver = restarted(bench, published=published(bench, gpu_0=1, gpu_1=0))

    assert driver._node.snapshot.devices.by_name["gpu-1"].gpu.uuid == bench.uuid(1)


def test_without_file_and_api_server_the_plugin_starts_and_makes_no_names_up(bench: Any) -> None:
    bench.prepare("u1", "gpu-1")
    file_of(bench).path.unlink()

    def away() -> Any:
        raise NumbersUnknown("read the numbers of GPUs", "slices of node x", "the server is away")

    driver = restarted(bench, published=away)
    driver.reconcile()

    with pytest.raises(NumbersUnknown, match="it is retried"):
        driver._node.snapshot  # noqa: B018 - reading it is what fails
    assert not file_of(bench).path.exists()
