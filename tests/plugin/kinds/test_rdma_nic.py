"""A whole NIC for RDMA: given as it is, never beside its VFs, never where the node itself needs it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from plugin.assembly import assemble
from plugin.base.errors import ClaimUnusable, DeviceHeld, NotReady

NIC, VF = "nic-0000-19-00-0", "nic-0000-19-00-0-vf-0"


@pytest.fixture
def bench(bench_of: Callable[..., Any]) -> Any:
    """A machine with an Ethernet NIC that has two VFs."""
    return bench_of("a30x4")


class NeededNic:
    """A reader of NICs on a machine whose default route leads through a bond of every NIC."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def needed_for_default_route(self, bdf: str) -> tuple[str, ...]:
        return ("enp25s0", "bond0")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


def test_containers_get_the_verbs_device_of_the_nic_and_its_interface_stays(bench: Any) -> None:
    interfaces = bench.machine.nics.reader.interfaces("0000:19:00.0")
    bench.prepare("u1", NIC)
    (device,) = json.loads(bench.document("u1").read_text())["devices"]

    nodes = [node["path"] for node in device["containerEdits"]["deviceNodes"]]

    assert nodes == ["/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"]
    assert device["containerEdits"]["env"] == ["TANGRAM_DEVICE_NIC_0000_19_00_0=0000:19:00.0"]
    assert bench.records()[0].devices[0].status_data == {
        "pciAddress": "0000:19:00.0",
        "rdmaDevices": ["mlx5_0"],
    }
    assert bench.machine.nics.reader.interfaces("0000:19:00.0") == interfaces
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize(("first", "second"), [(NIC, VF), (VF, NIC)])
def test_a_nic_and_its_vfs_are_not_given_at_once(bench: Any, first: str, second: str) -> None:
    bench.prepare("u1", first)

    with pytest.raises(DeviceHeld, match=rf"claim-u1 \(completed\) holds {first}, of the same NIC"):
        bench.prepare("u2", second)

    bench.unprepare("u1")
    assert bench.prepare("u2", second)


def test_a_nic_is_kept_from_others_while_a_vf_that_is_gone_now_is_still_recorded(bench: Any) -> None:
    bench.prepare("u1", VF)
    bench.simulated.set_vfs("0000:19:00.0", 0)
    bench.driver.reconcile()

    with pytest.raises(DeviceHeld, match="of the same NIC"):
        bench.prepare("u2", NIC)


def test_a_claim_that_has_a_nic_and_its_vf_is_refused(bench: Any) -> None:
    with pytest.raises(ClaimUnusable):
        bench.prepare("u1", NIC, VF)

    assert bench.leftovers() == []


def test_the_nic_of_the_nodes_default_route_is_never_given(bench: Any) -> None:
    nics = replace(bench.machine.nics, reader=NeededNic(bench.machine.nics.reader))
    machine = replace(bench.machine, nics=nics)
    driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    with pytest.raises(NotReady, match=r"carries the node's default route \(enp25s0 < bond0\)"):
        driver.prepare(bench.claim("u1", NIC))

    assert bench.leftovers() == []


def test_a_nic_without_an_rdma_device_is_refused(bench: Any) -> None:
    functions = bench.machine.nics.functions
    bench.inject("nic-0:no-rdma")
    functions.give_to("0000:19:00.0", "vfio-pci")
    functions.restore("0000:19:00.0", bench.machine.nics.reader.binding("0000:19:00.1"))

    with pytest.raises(ClaimUnusable, match="it has no RDMA device"):
        bench.prepare("u1", NIC)
