"""A device of several nodes: each node prepares the whole GPUs that it has of it, and holds them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from agent.hardware.types import GpuUuid
from plugin._pb.dra_v1.api_pb2 import Claim
from plugin.base.errors import ClaimUnusable, DeviceHeld, DeviceUnusable, PluginError, UnknownDevice
from plugin.claim.states import State
from plugin.kubelet.dra_service import Service
from plugin.telling.status import device_statuses
from scheduler_core.codec.members import Members
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid, OpaqueConfig
from scheduler_core.model.device import DeviceName

POOL = "multi-node/gpus"
PAIR = DeviceName("pair")
ALONE = DeviceName("alone")


def pools(node: str, *minors: int, device: str = PAIR) -> Mapping[str, Members]:
    """Return a pool whose device has these GPUs on a node, and others elsewhere."""
    return {POOL: {DeviceName(device): {node: minors, "elsewhere": (0, 1, 2)}}}


@pytest.fixture
def claim(claim_of: Callable[..., AllocatedClaim]) -> Callable[..., AllocatedClaim]:
    return lambda uid, *devices, **more: claim_of(uid, POOL, devices or (PAIR,), **more)


def uuids(bench: Any, uid: str) -> list[GpuUuid]:
    (record,) = (one for one in bench.records() if one.uid == uid)
    return [gpu for device in record.devices for gpu in device.members]


def test_a_container_gets_the_gpus_of_its_node_and_a_record_says_which(bench: Any, claim: Any) -> None:
    (prepared,) = bench.driver.prepare(claim("u1"), pools(bench.node, 0, 1))

    (device,) = json.loads(bench.document("u1").read_text())["devices"]
    edits = device["containerEdits"]
    assert (prepared.pool, prepared.device) == (POOL, PAIR)
    assert {"/dev/nvidia0", "/dev/nvidia1"} <= {node["path"] for node in edits["deviceNodes"]}
    assert edits["env"] == [f"TANGRAM_DEVICE_PAIR={bench.uuid(0)},{bench.uuid(1)}"]
    assert uuids(bench, "u1") == [bench.uuid(0), bench.uuid(1)]


def test_one_gpu_is_prepared_as_the_node_prepares_it(bench: Any, claim: Any) -> None:
    bench.driver.prepare(claim("u1"), pools(bench.node, 1))

    assert uuids(bench, "u1") == [bench.uuid(1)]


def test_the_same_call_again_gives_the_same_answer_and_the_end_needs_no_pool(bench: Any, claim: Any) -> None:
    first = bench.driver.prepare(claim("u1"), pools(bench.node, 0, 1))
    bench.restart()

    assert bench.driver.prepare(claim("u1"), pools(bench.node, 0, 1)) == first

    bench.unprepare("u1")
    assert bench.records() == ()
    assert bench.leftovers() == []


@pytest.mark.parametrize("held", ["gpu-1", "gpu-1-mig-1g-5gb-2"])
def test_who_has_a_gpu_or_a_part_of_it_keeps_the_device_of_several_nodes_off(
    bench: Any, claim: Any, held: str
) -> None:
    bench.prepare("u1", held)

    with pytest.raises(DeviceHeld, match=r"device pair for claim default/claim-u2: .*claim-u1"):
        bench.driver.prepare(claim("u2"), pools(bench.node, 0, 1))
    assert [one.uid for one in bench.records()] == ["u1"]


@pytest.mark.parametrize("wanted", ["gpu-1", "gpu-1-mig-1g-5gb-2"])
def test_the_device_of_several_nodes_keeps_others_off_its_gpus_and_off_nothing_else(
    bench: Any, claim: Any, wanted: str
) -> None:
    bench.driver.prepare(claim("u1"), pools(bench.node, 1))

    with pytest.raises(DeviceHeld, match="claim-u1"):
        bench.prepare("u2", wanted)
    bench.prepare("u3", "gpu-0")


def test_two_devices_with_a_common_gpu_are_not_both_prepared(bench: Any, claim: Any) -> None:
    known = {POOL: {PAIR: {bench.node: (0, 1)}, ALONE: {bench.node: (1,)}}}
    bench.driver.prepare(claim("u1", PAIR), known)

    with pytest.raises(DeviceHeld, match="claim-u1"):
        bench.driver.prepare(claim("u2", ALONE), known)
    with pytest.raises(ClaimUnusable, match="allocate the claim anew"):
        bench.driver.prepare(claim("u3", PAIR, ALONE), known)


def test_a_device_that_is_called_like_a_gpu_of_the_node_is_not_taken_for_it(bench: Any, claim: Any) -> None:
    bench.driver.prepare(claim("u1", "gpu-0"), pools(bench.node, 1, device="gpu-0"))

    assert uuids(bench, "u1") == [bench.uuid(1)]
    bench.prepare("u2", "gpu-0")
    with pytest.raises(DeviceHeld):
        bench.prepare("u3", "gpu-1")


def test_a_node_without_members_says_where_they_are(bench: Any, claim: Any) -> None:
    with pytest.raises(ClaimUnusable, match=f"it has no GPU on node {bench.node}, only on elsewhere"):
        bench.driver.prepare(claim("u1"), {POOL: {PAIR: {"elsewhere": (0,)}}})
    assert bench.records() == ()


def test_a_device_that_its_pool_does_not_know_is_refused_and_tried_again(bench: Any, claim: Any) -> None:
    with pytest.raises(UnknownDevice, match="says of no device pair which GPUs it has") as refusal:
        bench.driver.prepare(claim("u1"), {POOL: {}})
    assert refusal.value.retry


def test_a_gpu_that_the_node_does_not_have_is_named(bench: Any, claim: Any) -> None:
    with pytest.raises(UnknownDevice, match="does not offer GPU 9 as a whole"):
        bench.driver.prepare(claim("u1"), pools(bench.node, 0, 9))


def test_it_takes_no_configuration(bench: Any, claim: Any) -> None:
    parameters = {
        "apiVersion": "tangram.dev/v1alpha1",
        "kind": "GpuConfig",
        "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
    }
    config = OpaqueConfig(driver="tangram.dev", parameters=parameters)

    with pytest.raises(ClaimUnusable, match="is of several nodes, and takes no configuration"):
        bench.driver.prepare(claim("u1", configs=(config,)), pools(bench.node, 0))


def test_where_the_fabric_manager_joins_gpus_it_must_have_a_partition_of_them(
    fabric_bench: Any, claim: Any
) -> None:
    with pytest.raises(DeviceUnusable, match="no partition of exactly GPUs 0, 1, 2"):
        fabric_bench.driver.prepare(claim("u1"), pools(fabric_bench.node, 0, 1, 2))


def test_the_claims_status_says_nothing_of_it(bench: Any, claim: Any) -> None:
    bench.driver.prepare(claim("u1"), pools(bench.node, 0, 1))
    (record,) = bench.records()

    assert record.state is State.COMPLETED
    assert device_statuses(record, 0.0) == ()


class Claims:
    """A cluster with one claim, and a pool whose members were read as often as ``asked`` says."""

    def __init__(self, node: str) -> None:
        self.node = node
        self.asked: list[tuple[str, str]] = []

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        meanwhile()
        results = [{"request": "r", "driver": "tangram.dev", "pool": POOL, "device": PAIR}]
        metadata = {"namespace": ref.namespace, "name": ref.name, "uid": "u1"}
        return {"metadata": metadata, "status": {"allocation": {"devices": {"results": results}}}}

    def members(self, driver: str, pool: str) -> Members:
        self.asked.append((driver, pool))
        return {PAIR: {self.node: (0, 1)}}


class Observer:
    """Remembers of which devices a failure is told."""

    def __init__(self) -> None:
        self.told: list[object] = []

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None: ...

    def failed(
        self, uid: ClaimUid, ref: ClaimRef, attempted: str, error: PluginError, devices: Any = ()
    ) -> None:
        self.told.append((str(error), tuple(devices)))


def test_the_kubelets_call_reads_the_pool_once_and_a_failure_is_an_event_alone(bench: Any) -> None:
    claims, observer = Claims(bench.node), Observer()
    service = Service(bench.driver, claims, observer)
    caller: Any = SimpleNamespace(
        is_active=lambda: True, time_remaining=lambda: 45.0, add_callback=lambda action: True
    )
    wire = Claim(namespace="default", name="c", uid="u1")

    assert service.prepare([wire], caller)["u1"].devices[0].pool == POOL
    assert claims.asked == [("tangram.dev", POOL)]

    service.unprepare([wire], caller)
    claims.node = "elsewhere"
    assert "it has no GPU on node" in service.prepare([wire], caller)["u1"].error
    assert [devices for _, devices in observer.told] == [()]
