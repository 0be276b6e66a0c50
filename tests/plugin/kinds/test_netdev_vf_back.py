"""A VF's interface comes back to the host as it was; each test names what fails elsewhere."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import NETDEV

from agent.hardware.nics.links import Link
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.types import Bdf
from plugin.assembly import assemble
from plugin.base.errors import (
    DeviceHeld,
    NotReady,
)
from plugin.kinds.health import Health
from scheduler_core.model.claim import OpaqueConfig

PF, BDF = Bdf("0000:19:00.0"), Bdf("0000:19:00.2")
VF, SIBLING = "nic-0000-19-00-0-vf-0", "nic-0000-19-00-0-vf-1"
MAC = "02:00:00:00:00:07"


@pytest.fixture
def bench(bench_of: Callable[..., Any]) -> Any:
    """A machine with an Ethernet NIC that has two VFs."""
    return bench_of("a30x4")


def claim(bench: Any, device: str = VF, uid: str = "u1", netdev: Any = NETDEV, **fields: Any) -> Any:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", "mode": "netdev", **fields}
    if netdev is not None:
        parameters["netdev"] = netdev
    config = OpaqueConfig(driver="tangram.dev", parameters=parameters)
    return bench.claim(uid, device, configs=(config,))


def prepare(bench: Any, *arguments: Any, **fields: Any) -> Any:
    return bench.driver.prepare(claim(bench, *arguments, **fields))


def link(bench: Any, namespace: Path | None = None, bdf: Bdf = BDF) -> Link | None:
    found: Link | None = bench.machine.nics.interfaces.find(bdf, namespace)
    return found


def recorded(bench: Any) -> Any:
    ((device,),) = (record.devices for record in bench.records())
    return device


def another_pod(bench: Any, name: str = "other") -> Path:
    file: Path = bench.pod.with_name(name)
    file.touch()
    return file


def test_the_interface_of_a_pod_that_ended_has_its_own_name_mac_and_mtu_again(bench: Any) -> None:
    """dranet 33, antrea 7144: the kernel gives it back under the pod's name."""
    before = link(bench)
    prepare(bench, mac=MAC)
    bench.bring_in("u1", VF)
    bench.pod.unlink()
    under_the_pods_name = link(bench)
    bench.unprepare("u1")

    assert under_the_pods_name is not None
    assert before is not None
    assert under_the_pods_name.name == "fast0"
    assert link(bench) == replace(before, is_up=True)


def test_a_namespace_that_is_gone_at_unprepare_is_no_error(bench: Any) -> None:
    """sriov-cni 126: the runtime removes the namespace before, or after, the driver is called."""
    prepare(bench)
    bench.bring_in("u1", VF)
    bench.pod.unlink()
    bench.unprepare("u1")
    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_unprepare_waits_for_the_kernel_to_give_it_back(bench: Any) -> None:
    prepare(bench)
    bench.bring_in("u1", VF)
    hidden = HidingInterfaces(bench.machine.nics.interfaces, looks=3)
    machine = replace(bench.machine, nics=replace(bench.machine.nics, interfaces=hidden))
    bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)
    bench.pod.unlink()

    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_what_the_kernel_never_gives_back_is_retried_and_the_record_stays(bench: Any) -> None:
    prepare(bench)
    bench.bring_in("u1", VF)
    hidden = HidingInterfaces(bench.machine.nics.interfaces, looks=10**6)
    machine = replace(bench.machine, nics=replace(bench.machine.nics, interfaces=hidden))
    bench.driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    with pytest.raises(NotReady, match="it is retried: the kernel gives it back"):
        bench.unprepare("u1")
    bench.restart()
    bench.unprepare("u1")

    assert bench.leftovers() == []


class HidingInterfaces:
    """Interfaces of which none is anywhere for some looks, as while the kernel clears a namespace."""

    def __init__(self, interfaces: Any, looks: int) -> None:
        self._interfaces = interfaces
        self._looks = looks

    def find(self, bdf: Bdf, namespace: Path | None = None) -> Link | None:
        self._looks -= 1
        found: Link | None = self._interfaces.find(bdf, namespace)
        return None if self._looks >= 0 else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._interfaces, name)


def test_a_name_that_was_taken_on_the_host_meanwhile_does_not_keep_it_from_coming_back(bench: Any) -> None:
    own = link(bench)
    assert own is not None
    prepare(bench)
    bench.bring_in("u1", VF)
    bench.machine.nics.interfaces.move_back(Bdf("0000:19:00.3"), WantedInterface(name=own.name), None)
    bench.unprepare("u1")
    found = link(bench)

    assert found is not None
    assert found.name != own.name


def test_the_rdma_device_is_on_the_host_all_the_time_and_no_descriptor_is_lost(bench: Any) -> None:
    """dranet 177, 180: RDMA devices that do not come back, a descriptor for each pod."""
    before = bench.machine.nics.reader.rdma_devices(BDF)
    gc.collect()
    open_files = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        prepare(bench)
        bench.bring_in("u1", VF)
        inside = bench.machine.nics.reader.rdma_devices(BDF)
        bench.unprepare("u1")

        assert inside == before
    assert bench.machine.nics.reader.rdma_devices(BDF) == before
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= open_files


def test_ending_an_old_claim_again_leaves_the_new_claims_interface_alone(bench: Any) -> None:
    """sriov-cni 313: a late DEL resets a VF that another pod has."""
    prepare(bench)
    with pytest.raises(DeviceHeld):
        prepare(bench, uid="u2")
    bench.unprepare("u1")
    prepare(bench, uid="u2", mac=MAC)
    bench.bring_in("u2", VF)
    inside = link(bench, bench.pod)
    bench.unprepare("u1")

    assert link(bench, bench.pod) == inside
    assert bench.machine.nics.settings.read(PF, 0).mac == MAC


def test_a_vf_whose_interface_a_pod_has_is_healthy_and_offered_as_before(bench: Any) -> None:
    """sriov-network-device-plugin 40: a function is ill once its interface left the host."""
    before = bench.offered()
    prepare(bench)
    bench.driver.health.read()
    bench.bring_in("u1", VF)
    (health,) = (one for one in bench.driver.health.read() if one.device == VF)

    assert health.health is Health.HEALTHY
    assert bench.offered() == before


def test_mtu_vlan_and_trust_are_set_and_no_vlan_is_written_where_none_was_asked_for(bench: Any) -> None:
    """sriov-cni 123, 291; incus 2864: MTU not settable, VLAN 0 over VLAN 0, bonds need trust."""
    prepare(bench, netdev={"mtu": 1400}, trust=True)
    bench.bring_in("u1", VF)
    found, kept = link(bench, bench.pod), bench.machine.nics.settings.read(PF, 0)

    assert found is not None
    assert found.mtu == 1400
    assert (kept.trust, kept.vlan) == (True, 0)
    assert recorded(bench).settings.vlan is None


def test_vfs_that_were_made_anew_meanwhile_end_a_claim_all_the_same(bench: Any) -> None:
    prepare(bench)
    bench.bring_in("u1", VF)
    bench.simulated.set_vfs(PF, 0)
    bench.unprepare("u1")

    assert bench.records() == ()
