"""A VF for VFIO: its group is checked, its driver changes and comes back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agent.hardware.types import Bdf
from plugin.base.errors import HardwareFailed, NotReady
from scheduler_core.model.claim import OpaqueConfig

PF, BDF = Bdf("0000:19:00.0"), Bdf("0000:19:00.2")
VF, SIBLING = "nic-0000-19-00-0-vf-0", "nic-0000-19-00-0-vf-1"


@pytest.fixture
def bench(bench_of: Callable[..., Any]) -> Any:
    """A machine with an Ethernet NIC that has two VFs."""
    return bench_of("a30x4")


def prepare(bench: Any, *devices: str, uid: str = "u1", **fields: Any) -> None:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", "mode": "vfio", **fields}
    config = OpaqueConfig(driver="tangram.dev", parameters=parameters)
    bench.driver.prepare(bench.claim(uid, *(devices or (VF,)), configs=(config,)))


def driver(bench: Any, bdf: Bdf = BDF) -> tuple[str | None, str | None]:
    found = bench.machine.nics.reader.binding(bdf)
    return found.driver, found.override


def test_containers_get_the_nodes_of_vfio_and_the_address(bench: Any) -> None:
    prepare(bench)
    (device,) = json.loads(bench.document("u1").read_text())["devices"]
    group = bench.machine.nics.reader.iommu_group(BDF).number

    nodes = [node["path"] for node in device["containerEdits"]["deviceNodes"]]

    assert nodes[:3] == ["/dev/vfio/vfio", f"/dev/vfio/{group}", "/dev/iommu"]
    assert nodes[3].startswith("/dev/vfio/devices/vfio")
    assert device["containerEdits"]["env"] == [f"TANGRAM_DEVICE_NIC_0000_19_00_0_VF_0={BDF}"]
    assert bench.records()[0].devices[0].status_data["iommuGroup"] == group


def test_the_driver_that_a_vf_had_comes_back(bench: Any) -> None:
    prepare(bench, mac="02:00:00:00:00:07")
    given = driver(bench)
    bench.unprepare("u1")

    assert given == ("vfio-pci", "vfio-pci")
    assert driver(bench) == ("mlx5_core", None)
    assert bench.leftovers() == []


def test_a_pod_that_is_made_again_without_an_unprepare_finds_its_vf_with_vfio(bench: Any) -> None:
    """A pod deleted by force never starts again, since its device has the driver already (#1330)."""
    prepare(bench)
    document = bench.document("u1").read_bytes()
    prepare(bench)
    bench.restart()
    prepare(bench)

    assert driver(bench) == ("vfio-pci", "vfio-pci")
    assert bench.document("u1").read_bytes() == document
    bench.unprepare("u1")
    assert driver(bench) == ("mlx5_core", None)
    assert bench.leftovers() == []


def test_a_vf_that_an_operator_gave_to_vfio_stays_there(bench: Any) -> None:
    bench.machine.nics.functions.give_to(BDF, "vfio-pci")
    prepare(bench)

    bench.unprepare("u1")

    assert driver(bench) == ("vfio-pci", "vfio-pci")


def test_a_neighbour_in_the_group_on_its_kernel_driver_is_named_and_nothing_changes(bench: Any) -> None:
    bench.inject("nic-0:shared-iommu")

    with pytest.raises(NotReady, match=rf"also has {PF}, which driver mlx5_core has"):
        prepare(bench)

    assert driver(bench) == ("mlx5_core", None)
    assert bench.records() == ()


def test_without_an_iommu_nothing_changes(bench: Any) -> None:
    bench.inject("nic-0:no-iommu")

    with pytest.raises(NotReady, match="it has no IOMMU group; the operator turns the IOMMU on"):
        prepare(bench)

    assert bench.leftovers() == []


def test_without_the_module_the_operator_is_told_which(bench: Any) -> None:
    bench.inject("machine:no-vfio")

    with pytest.raises(NotReady, match="the operator loads the kernel module of vfio-pci"):
        prepare(bench, trust=True)

    assert bench.leftovers() == []


def test_a_vf_in_use_stays_as_it_is_and_goes_when_it_is_free(bench: Any) -> None:
    bench.inject("nic-0:unbind:in-use:1")
    with pytest.raises(HardwareFailed, match="a program still uses the function") as refusal:
        prepare(bench)
    after_refusal = driver(bench)
    prepare(bench)
    bench.inject("nic-0:unbind:in-use:1")
    with pytest.raises(HardwareFailed):
        bench.unprepare("u1")
    still = driver(bench)[0]
    bench.unprepare("u1")

    assert refusal.value.retry
    assert after_refusal == ("mlx5_core", None)
    assert still == "vfio-pci"
    assert bench.leftovers() == []


def test_vfs_of_one_nic_may_have_different_uses(bench: Any) -> None:
    prepare(bench)
    bench.prepare("u2", SIBLING)

    bench.unprepare("u1")
    bench.unprepare("u2")

    assert bench.leftovers() == []


def test_a_vf_without_an_rdma_device_can_be_had_for_vfio(bench: Any) -> None:
    bench.inject("nic-0:no-rdma")
    for count in (0, 2):
        bench.simulated.set_vfs(PF, count)

    prepare(bench)

    assert driver(bench)[0] == "vfio-pci"


def test_what_a_node_offers_stays_the_same_while_vfio_has_a_vf(bench: Any) -> None:
    before = bench.offered()
    prepare(bench)

    assert bench.offered() == before


def test_a_vf_that_was_made_anew_keeps_its_new_driver(bench: Any) -> None:
    prepare(bench)
    for count in (0, 2):
        bench.simulated.set_vfs(PF, count)

    bench.unprepare("u1")

    assert driver(bench) == ("mlx5_core", None)
    assert bench.records() == ()
