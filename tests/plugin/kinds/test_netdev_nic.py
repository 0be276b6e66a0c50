"""A whole NIC as a network interface: never one that the node needs, never beside its VFs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from devices_of_kinds import NETDEV

from agent.hardware.types import Bdf
from plugin.assembly import assemble
from plugin.base.errors import DeviceHeld, NotReady
from plugin.kinds.health import Health
from scheduler_core.model.claim import OpaqueConfig

PF = Bdf("0000:19:00.0")
NIC, VF = "nic-0000-19-00-0", "nic-0000-19-00-0-vf-0"


@pytest.fixture
def bench(bench_of: Callable[..., Any]) -> Any:
    """A machine with an Ethernet NIC that has two VFs."""
    return bench_of("a30x4")


def prepare(bench: Any, uid: str = "u1", **fields: Any) -> Any:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "NicConfig", **fields}
    config = OpaqueConfig(driver="tangram.dev", parameters=parameters)
    return bench.driver.prepare(bench.claim(uid, NIC, configs=(config,)))


def test_a_pod_has_it_as_wanted_and_the_host_has_it_again_as_it_was(bench: Any) -> None:
    find = bench.machine.nics.interfaces.find
    before = find(PF)
    prepare(bench, **NETDEV)
    bench.bring_in("u1", NIC)
    inside, on_host = find(PF, bench.pod), find(PF)
    bench.unprepare("u1")

    assert (inside.name, inside.mtu, inside.mac) == ("fast0", 1400, before.mac)
    assert list(inside.addresses) == NETDEV["addresses"]
    assert on_host is None
    assert find(PF) == before
    assert bench.leftovers() == []


def test_containers_get_the_hook_and_the_verbs_device(bench: Any) -> None:
    prepare(bench)
    (device,) = json.loads(bench.document("u1").read_text())["devices"]
    (hook,) = device["containerEdits"]["hooks"]

    assert hook["args"][2:4] == ["u1", NIC]
    nodes = [node["path"] for node in device["containerEdits"]["deviceNodes"]]
    assert nodes == ["/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"]


def test_a_nic_whose_vf_is_in_use_is_refused_and_so_is_the_vf_of_a_nic_in_a_pod(bench: Any) -> None:
    bench.prepare("u2", VF)
    with pytest.raises(DeviceHeld, match=f"holds {VF}, of the same NIC"):
        prepare(bench)
    bench.unprepare("u2")
    prepare(bench)
    bench.bring_in("u1", NIC)
    with pytest.raises(DeviceHeld, match=f"holds {NIC}, of the same NIC"):
        bench.prepare("u2", VF)


def test_a_nic_that_the_default_route_needs_is_refused_also_when_a_container_is_made(bench: Any) -> None:
    prepare(bench)
    reader = NeededNic(bench.machine.nics.reader)
    machine = replace(bench.machine, nics=replace(bench.machine.nics, reader=reader))
    bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    with pytest.raises(NotReady, match=r"carries the node's default route \(enp25s0 < bond0\)"):
        bench.bring_in("u1", NIC)
    bench.unprepare("u1")
    with pytest.raises(NotReady, match="the user asks for another NIC or VF"):
        prepare(bench)

    assert bench.leftovers() == []


class NeededNic:
    """A reader of NICs on a machine whose default route leads through a bond of every NIC."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def needed_for_default_route(self, bdf: str) -> tuple[str, ...]:
        return ("enp25s0", "bond0")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reader, name)


def test_a_nic_that_a_pod_has_is_healthy_and_offered_as_before(bench: Any) -> None:
    """sriov-network-device-plugin 40: a function is ill once its interface left the host."""
    before = bench.offered()
    prepare(bench)
    bench.driver.health.read()
    bench.bring_in("u1", NIC)
    (health,) = (one for one in bench.driver.health.read() if one.device == NIC)

    assert health.health is Health.HEALTHY
    assert bench.offered() == before


def test_its_mtu_must_be_one_that_the_driver_takes(bench: Any) -> None:
    with pytest.raises(NotReady, match="its MTU may be 68 to 9978 bytes, not 10000"):
        prepare(bench, mtu=10000)

    assert bench.leftovers() == []
