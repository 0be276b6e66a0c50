"""A GPU that several claims share: each has its share, and the GPU is nobody else's meanwhile."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from devices_of_kinds import SHARE_ID, allocated_device

from plugin.base.errors import ClaimUnusable, DeviceHeld, PlacementTaken
from plugin.telling.status import device_statuses
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice

SHARED = "gpu-0-shared"
OTHERS = ["gpu-0", "gpu-0-mig-1g-5gb-2", "gpus-0-1"]


@pytest.fixture
def bench(linked_bench: Any) -> Any:
    return linked_bench


def share(bench: Any, uid: str, memory: str, **more: Any) -> AllocatedClaim:
    """A claim with a share of the first GPU."""
    result = replace(allocated_device(SHARED, bench.node, memory=memory), **more)
    return replace(bench.claim(uid), results=(result,))


def environment(bench: Any, uid: str) -> dict[str, str]:
    (device,) = json.loads(bench.document(uid).read_text())["devices"]
    return dict(one.split("=", 1) for one in device["containerEdits"]["env"])


def consumed(**amounts: str) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in amounts.items()}


def test_each_container_is_told_its_own_share_and_gets_the_nodes_of_the_gpu(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", "10Gi"))
    bench.driver.prepare(share(bench, "u2", "1Gi", consumed=consumed(memory="4Gi", multiprocessors="14")))

    variable = "TANGRAM_DEVICE_GPU_0_SHARED"
    assert environment(bench, "u1") == {variable: bench.uuid(0), f"{variable}_MEMORY_BYTES": str(10 * 2**30)}
    assert environment(bench, "u2") == {
        variable: bench.uuid(0),
        f"{variable}_MEMORY_BYTES": str(4 * 2**30),
        f"{variable}_MULTIPROCESSORS": "14",
    }
    (device,) = json.loads(bench.document("u2").read_text())["devices"]
    assert "/dev/nvidia0" in {node["path"] for node in device["containerEdits"]["deviceNodes"]}


def test_kubelet_and_claim_status_are_told_which_share_it_is(bench: Any) -> None:
    (prepared,) = bench.driver.prepare(share(bench, "u1", "10Gi"))
    (record,) = bench.records()
    (status,) = device_statuses(record, 0.0)

    assert prepared.share_id == SHARE_ID
    assert status["shareID"] == SHARE_ID
    assert status["data"]["uuid"] == bench.uuid(0)


def test_a_share_tells_the_address_of_its_gpu(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", "10Gi"))

    (record,) = bench.records()
    (device,) = record.devices
    assert device.pci_addresses == (bench.simulated.gpus.gpus()[0].bdf,)


def test_a_claim_ends_without_touching_the_gpu_of_the_others(bench: Any) -> None:
    for uid in ("u1", "u2", "u3"):
        bench.driver.prepare(share(bench, uid, "10Gi"))

    bench.unprepare("u2")
    bench.restart()

    assert not bench.document("u2").exists()
    assert bench.document("u1").exists()
    assert bench.document("u3").exists()
    assert {record.claim_uid for record in bench.records()} == {"u1", "u3"}
    bench.unprepare("u1")
    bench.unprepare("u3")
    assert bench.leftovers() == []


def test_shares_beyond_the_memory_are_refused_as_the_scheduler_counts_them(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", "30Gi"))

    with pytest.raises(DeviceHeld, match=r"gpu-0-shared for claim default/claim-u2: .*memory"):
        bench.driver.prepare(share(bench, "u2", "10241Mi"))

    bench.driver.prepare(share(bench, "u3", "10Gi"))
    assert {record.claim_uid for record in bench.records()} == {"u1", "u3"}


@pytest.mark.parametrize("other", OTHERS)
def test_a_shared_gpu_and_whatever_else_is_of_it_refuse_each_other(bench: Any, other: str) -> None:
    bench.driver.prepare(share(bench, "u1", "1Gi"))
    with pytest.raises(DeviceHeld, match=rf"device {other} for claim default/claim-u2: .*claim-u1"):
        bench.prepare("u2", other)
    bench.unprepare("u1")
    bench.prepare("u2", other)

    with pytest.raises(DeviceHeld, match=rf"device {SHARED} for claim default/claim-u1: .*claim-u2"):
        bench.driver.prepare(share(bench, "u1", "1Gi"))

    assert [record.claim_uid for record in bench.records()] == ["u2"]


def test_a_share_holds_its_gpu_where_shares_are_not_offered_any_more(bench: Any, bench_in: Any) -> None:
    bench.driver.prepare(share(bench, "u1", "1Gi"))
    without = bench_in(bench.options.kubelet_dir.parent)

    with pytest.raises(DeviceHeld, match=r"gpu-0 for claim default/claim-u2: .*claim-u1"):
        without.prepare("u2", "gpu-0")
    with pytest.raises(DeviceHeld, match=r"claim-u1"):
        without.prepare("u2", "gpu-0-mig-1g-5gb-2")

    without.unprepare("u1")
    without.prepare("u2", "gpu-0")


def test_a_gpu_that_somebody_cut_is_not_shared(bench: Any) -> None:
    gpus, uuid = bench.simulated.gpus, bench.uuid(0)
    gpus.set_mig_mode(uuid, enabled=True)
    profile = next(
        one for one in bench.driver._node.snapshot.devices.by_name.values() if hasattr(one, "spec")
    )
    gpus.create_gpu_instance(profile.spec)

    with pytest.raises(PlacementTaken, match="whole: it is cut into GI"):
        bench.driver.prepare(share(bench, "u1", "1Gi"))

    assert bench.records() == ()


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"share_id": None}, "does not say which share"),
        ({"consumed": {}}, "does not say which share"),
        (
            {"consumed": consumed(memory="1Gi", decoders="1")},
            "of tangram.dev/decoders, which the device does not",
        ),
    ],
)
def test_an_allocation_that_names_no_share_of_the_device_is_refused(
    bench: Any, more: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ClaimUnusable, match=reason):
        bench.driver.prepare(share(bench, "u1", "1Gi", **more))

    assert bench.leftovers() == []


@pytest.mark.parametrize("device", ["gpu-0", "gpu-0-mig-1g-5gb-2"])
def test_no_share_of_a_device_for_one_claim_is_prepared(bench: Any, device: str) -> None:
    result: AllocatedDevice = replace(allocated_device(device, bench.node), share_id=SHARE_ID)

    with pytest.raises(ClaimUnusable, match="has a share of it, and this version prepares it for one claim"):
        bench.driver.prepare(replace(bench.claim("u1"), results=(result,)))


def test_two_shares_of_one_gpu_in_one_claim_are_refused_with_what_to_ask_instead(bench: Any) -> None:
    first = allocated_device(SHARED, bench.node, "a", memory="1Gi")
    claim = replace(bench.claim("u1"), results=(first, replace(first, request="b", share_id="other")))

    with pytest.raises(ClaimUnusable, match=r"twice.*one share that is as large as both"):
        bench.driver.prepare(claim)
