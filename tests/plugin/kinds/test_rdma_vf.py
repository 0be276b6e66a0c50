"""A VF for RDMA: it is checked, awaited, and its device nodes are given to containers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agent.inventory.describe import describe
from agent.inventory.discover import discover
from plugin.base.errors import ClaimUnusable, DeviceHeld, HardwareFailed, NotReady, PluginError
from scheduler_core.frontends.configuration.check import unprepared_devices
from scheduler_core.model.claim import OpaqueConfig

PF, VF, SIBLING = "nic-0000-19-00-0", "nic-0000-19-00-0-vf-0", "nic-0000-19-00-0-vf-1"


@pytest.fixture
def bench(bench_of: Callable[..., Any]) -> Any:
    """A machine with an Ethernet NIC that has two VFs."""
    return bench_of("a30x4")


def configured(bench: Any, device: str, **fields: Any) -> Any:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", **fields}
    return bench.claim("u1", device, configs=(OpaqueConfig(driver="tangram.dev", parameters=parameters),))


def edits(bench: Any, uid: str = "u1") -> Any:
    (device,) = json.loads(bench.document(uid).read_text())["devices"]
    return device["containerEdits"]


def nodes(bench: Any) -> list[str]:
    return [node["path"] for node in edits(bench)["deviceNodes"]]


def test_containers_get_the_verbs_device_the_connection_manager_and_the_address(bench: Any) -> None:
    bench.prepare("u1", VF)

    assert nodes(bench) == ["/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm"]
    assert edits(bench)["env"] == ["TANGRAM_DEVICE_NIC_0000_19_00_0_VF_0=0000:19:00.2"]


def test_the_claims_status_tells_the_addresses_and_the_rdma_device(bench: Any) -> None:
    bench.prepare("u1", VF)
    ((device,),) = (record.devices for record in bench.records())

    reader = bench.machine.nics.reader
    assert device.status_data == {
        "pciAddress": "0000:19:00.2",
        "pfPciAddress": "0000:19:00.0",
        "vfIndex": 0,
        "rdmaDevices": [one.name for one in reader.rdma_devices("0000:19:00.2")],
    }


def test_the_devices_of_the_subnets_managers_are_given_only_where_they_are_asked_for(bench: Any) -> None:
    bench.driver.prepare(configured(bench, VF, rdma={"managementDevices": True}))

    assert "/dev/infiniband/umad1" in nodes(bench)


def test_the_mode_is_rdma_where_a_configuration_does_not_say(bench: Any) -> None:
    bench.driver.prepare(configured(bench, VF))

    assert nodes(bench) == ["/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm"]


def made_anew(bench: Any) -> None:
    """Let the driver take the VF again, as after a reload."""
    for count in (0, 2):
        bench.simulated.set_vfs("0000:19:00.0", count)


def test_an_rdma_device_that_comes_late_is_awaited(bench: Any) -> None:
    bench.driver.reconcile()
    bench.inject("nic-0:late-rdma=3")
    made_anew(bench)

    bench.prepare("u1", VF)

    assert 0 < bench.clock.now < 5
    assert "/dev/infiniband/uverbs1" in nodes(bench)


def test_an_rdma_device_that_never_comes_is_told_after_a_bounded_wait_and_leaves_nothing(bench: Any) -> None:
    bench.driver.reconcile()
    bench.inject("nic-0:no-rdma")
    made_anew(bench)

    with pytest.raises(
        NotReady, match=r"PCI function 0000:19:00\.2: driver mlx5_core has made no"
    ) as refusal:
        bench.prepare("u1", VF)

    assert refusal.value.retry
    assert 5 <= bench.clock.now < 6
    assert bench.records() == ()
    assert not bench.document("u1").exists()


def test_a_vf_without_an_rdma_device_is_refused_with_the_words_of_the_front_ends(bench: Any) -> None:
    bench.inject("nic-0:no-rdma")
    made_anew(bench)

    pool = describe(discover(bench.machine.readers, bench.node)).pool
    ((_, told),) = unprepared_devices(bench.claim("u1", VF), "tangram.dev", [pool])

    with pytest.raises(ClaimUnusable, match=told):
        bench.prepare("u1", VF)


def test_a_vf_that_is_gone_since_its_allocation_is_told_to_be_gone(bench: Any) -> None:
    # An allocated device that vanished keeps pods hanging elsewhere without a word why.
    bench.driver.reconcile()
    bench.simulated.set_vfs("0000:19:00.0", 0)

    with pytest.raises(NotReady, match=r"VF 0000:19:00\.2.*no longer exists") as refusal:
        bench.prepare("u1", VF)

    assert refusal.value.retry
    assert bench.leftovers() == []


def test_what_takes_no_step_of_the_machine_may_be_prepared_again_and_again(bench: Any) -> None:
    first = bench.prepare("u1", VF)
    bench.document("u1").unlink()

    assert bench.prepare("u1", VF) == first
    assert bench.document("u1").exists()


def test_an_rdma_device_that_a_driver_made_anew_is_given_by_the_next_call(bench: Any) -> None:
    # A reload of the driver or an installation of OFED makes what was known stale.
    bench.prepare("u1", VF)
    made_anew(bench)

    bench.prepare("u1", VF)

    assert "/dev/infiniband/uverbs1" in nodes(bench)


def test_a_vf_that_another_claim_holds_is_refused_and_its_sibling_is_not(bench: Any) -> None:
    bench.prepare("u1", VF)

    with pytest.raises(DeviceHeld, match="claim-u1"):
        bench.prepare("u2", VF)

    assert bench.prepare("u3", SIBLING)


def test_the_vfs_of_a_restarted_plugin_stay_prepared(bench: Any) -> None:
    # A restart must not disturb RDMA pods that run.
    first = bench.prepare("u1", VF)
    document = bench.document("u1").read_bytes()

    bench.restart()

    assert bench.document("u1").read_bytes() == document
    assert bench.prepare("u1", VF) == first


def test_a_claim_with_a_gpu_and_a_vf_gets_both_and_leaves_nothing(bench: Any) -> None:
    bench.prepare("u1", VF, "gpu-0-mig-1g-6gb-0", "gpu-1")
    devices = json.loads(bench.document("u1").read_text())["devices"]

    bench.unprepare("u1")

    assert len(devices) == 3
    assert bench.leftovers() == []


def test_where_the_vf_of_a_claim_cannot_be_prepared_its_mig_partition_is_undone(bench: Any) -> None:
    bench.driver.reconcile()
    bench.inject("nic-0:no-rdma")
    made_anew(bench)

    with pytest.raises(PluginError):
        bench.prepare("u1", "gpu-0-mig-1g-6gb-0", VF)

    assert bench.instances() == ()
    assert bench.records() == ()


def test_a_vf_that_somebody_gave_to_user_space_is_not_waited_for(bench: Any) -> None:
    bench.driver.reconcile()
    bench.machine.nics.functions.give_to("0000:19:00.2", "vfio-pci")

    with pytest.raises(NotReady, match="driver vfio-pci has it"):
        bench.prepare("u1", VF)

    assert bench.clock.slept == []


def test_a_kernel_that_does_not_answer_is_told(bench: Any) -> None:
    bench.driver.reconcile()
    bench.inject("nic-0:read-rdma:hardware-fault:1")

    with pytest.raises(HardwareFailed) as refusal:
        bench.prepare("u1", VF)

    assert refusal.value.retry
    assert bench.prepare("u1", VF)


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("vlan.protocol", {"vlan": {"id": 5, "protocol": "802.1ad"}}),
    ],
    ids=str,
)
def test_what_this_version_does_not_do_is_refused_by_field(
    bench: Any, field: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(ClaimUnusable, match=rf"VfConfig\.{field}: this version cannot prepare"):
        bench.driver.prepare(configured(bench, VF, **fields))

    assert bench.leftovers() == []
