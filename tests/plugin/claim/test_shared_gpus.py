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
from scheduler_core.frontends.configuration.check import allocated_problems
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, OpaqueConfig

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


def shares(bench: Any, *requests: tuple[str, str], device: str = SHARED, **more: Any) -> AllocatedClaim:
    """A claim with several shares of the first GPU: of each the request and the memory."""
    found = [
        replace(allocated_device(device, bench.node, request, memory=memory), share_id=f"share-{number}")
        for number, (request, memory) in enumerate(requests)
    ]
    return replace(bench.claim("u1"), results=tuple(found), **more)


def by_device(bench: Any) -> list[dict[str, str]]:
    devices = json.loads(bench.document("u1").read_text())["devices"]
    return [dict(one.split("=", 1) for one in device["containerEdits"]["env"]) for device in devices]


def test_several_shares_of_one_gpu_in_one_claim_are_prepared_each_with_its_own_amounts(bench: Any) -> None:
    claim = shares(bench, ("a", "1Gi"), ("b", "3Gi"))

    prepared = bench.driver.prepare(claim)

    assert [(one.requests, one.share_id) for one in prepared] == [(("a",), "share-0"), (("b",), "share-1")]
    assert [one.cdi_ids for one in prepared] == [
        ("tangram.dev/claim=u1-gpu-0-shared",),
        ("tangram.dev/claim=u1-gpu-0-shared.2",),
    ]
    variable = "TANGRAM_DEVICE_GPU_0_SHARED_MEMORY_BYTES"
    assert [one[variable] for one in by_device(bench)] == [str(2**30), str(3 * 2**30)]
    assert bench.driver.prepare(claim) == prepared
    bench.restart()
    assert bench.driver.prepare(claim) == prepared
    (record,) = bench.records()
    assert [one["shareID"] for one in device_statuses(record, 0.0)] == ["share-0", "share-1"]
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_the_containers_of_a_request_are_told_all_its_shares_of_a_gpu_together(bench: Any) -> None:
    bench.driver.prepare(shares(bench, ("a", "1Gi"), ("a", "3Gi"), ("b", "5Gi")))

    variable = "TANGRAM_DEVICE_GPU_0_SHARED_MEMORY_BYTES"
    assert [one[variable] for one in by_device(bench)] == [str(4 * 2**30), str(4 * 2**30), str(5 * 2**30)]


def test_several_shares_under_mps_have_one_daemon_and_a_limit_each(bench: Any) -> None:
    bench.driver.prepare(shares(bench, ("a", "1Gi"), ("b", "3Gi"), device="gpu-0-mps"))

    limit = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT"
    assert [one[limit] for one in by_device(bench)] == ["0=1024M", "0=3072M"]
    assert len(list(bench.machine.mps.names())) == 1
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_the_shares_of_a_claim_are_counted_together_with_those_of_others(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u2", "30Gi"))

    with pytest.raises(DeviceHeld, match=r"gpu-0-shared for claim default/claim-u1: .*memory"):
        bench.driver.prepare(shares(bench, ("a", "6Gi"), ("b", "6Gi")))
    with pytest.raises(ClaimUnusable, match=r"gpu-0-shared for claim default/claim-u1: .*memory"):
        bench.driver.prepare(shares(bench, ("a", "20Gi"), ("b", "21Gi")))

    assert [record.claim_uid for record in bench.records()] == ["u2"]


def test_one_share_that_is_there_twice_is_refused(bench: Any) -> None:
    claim = shares(bench, ("a", "1Gi"), ("b", "1Gi"))
    twins = tuple(replace(one, share_id=SHARE_ID) for one in claim.results)

    with pytest.raises(ClaimUnusable, match=r"names device .*gpu-0-shared twice"):
        bench.driver.prepare(replace(claim, results=twins))


def test_shares_of_one_gpu_in_one_claim_have_one_interval(bench: Any) -> None:
    turns = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Short"}}
    short = {"apiVersion": "tangram.dev/v1alpha1", "kind": "GpuConfig", "sharing": turns}
    long = {**short, "sharing": {**turns, "timeSlicingConfig": {"interval": "Long"}}}
    configs = (
        OpaqueConfig(driver="tangram.dev", parameters=short, requests=("a",)),
        OpaqueConfig(driver="tangram.dev", parameters=long, requests=("b",)),
    )
    claim = shares(bench, ("a", "1Gi"), ("b", "1Gi"), configs=configs)

    with pytest.raises(ClaimUnusable, match=r"request b: .*interval.*Long.*request a has Short"):
        bench.driver.prepare(claim)
    assert len(allocated_problems(claim, "tangram.dev", [bench.driver._node.snapshot.devices.pool])) == 1
    assert bench.driver.prepare(replace(claim, configs=configs[:1]))


def test_a_lost_record_of_several_shares_keeps_their_gpu(bench: Any) -> None:
    bench.driver.prepare(shares(bench, ("a", "1Gi"), ("b", "1Gi")))
    for file in bench.options.claims_dir.iterdir():
        file.unlink()
    bench.restart()

    with pytest.raises(DeviceHeld):
        bench.prepare("u2", "gpu-0")
