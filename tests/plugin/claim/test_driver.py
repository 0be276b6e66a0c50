"""Prepare and unprepare of one claim, over a machine that refuses as hardware does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from agent.hardware.types import Placement
from plugin.base.errors import ClaimUnusable
from plugin.claim.plan import PreparedDevice
from plugin.claim.states import State

SMALL = "gpu-0-mig-1g-5gb-2"
HALF = "gpu-0-mig-3g-20gb-4-7"
KEP_CLAIM = ("gpu-0-mig-1g-5gb-0", "gpu-0-mig-1g-5gb-1", "gpu-0-mig-2g-10gb-2-3", "gpu-0-mig-3g-20gb-4-7")


def test_a_mig_partition_becomes_an_instance_a_record_and_a_cdi_device(bench: Any) -> None:
    answer = bench.prepare("u1", HALF)

    (instance,) = bench.instances()
    (record,) = bench.records()
    document = json.loads(bench.document("u1").read_text())
    cdi_id = f"tangram.dev/claim=u1-{HALF}"
    assert answer == (PreparedDevice(("r",), "a100x2", HALF, (cdi_id,)),)
    assert instance.placement == Placement(4, 4)
    assert record.state is State.COMPLETED
    assert record.devices[0].mig_uuid == instance.compute_instances[0].uuid
    assert [f"{document['kind']}={device['name']}" for device in document["devices"]] == [cdi_id]


def test_the_document_has_the_nodes_of_driver_gpu_and_instance(bench: Any) -> None:
    bench.prepare("u1", HALF)

    (record,) = bench.records()
    held = record.devices[0]
    document = json.loads(bench.document("u1").read_text())
    shared, edits = document["containerEdits"], document["devices"][0]["containerEdits"]
    paths = [node["path"] for node in (*shared["deviceNodes"], *edits["deviceNodes"])]
    capabilities = bench.machine.files.instance_nodes(0, held.gi_id, held.ci_id)
    assert {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"} <= set(paths)
    assert paths[-2:] == [node.path for node in capabilities]
    assert edits["env"] == [f"TANGRAM_DEVICE_GPU_0_MIG_3G_20GB_4_7={held.mig_uuid}"]
    assert "/usr/lib/x86_64-linux-gnu/libcuda.so.1" in {mount["containerPath"] for mount in shared["mounts"]}


def test_four_mig_partitions_of_one_claim_lie_on_one_gpu(bench: Any) -> None:
    answer = bench.prepare("u1", *KEP_CLAIM)

    assert tuple(device.device for device in answer) == KEP_CLAIM
    assert len(bench.instances()) == 4


def test_unprepare_leaves_nothing_and_the_mode_as_before(bench: Any) -> None:
    bench.prepare("u1", *KEP_CLAIM)

    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_prepare_twice_equals_once(bench: Any) -> None:
    first = bench.prepare("u1", HALF, SMALL)
    before = (bench.instances(), bench.records(), bench.document("u1").stat().st_mtime_ns)

    second = bench.prepare("u1", HALF, SMALL)

    assert second == first
    assert (bench.instances(), bench.records(), bench.document("u1").stat().st_mtime_ns) == before


def test_unprepare_of_an_unknown_claim_is_a_success(bench: Any) -> None:
    bench.unprepare("never-seen")
    bench.prepare("u1", HALF)
    bench.unprepare("u1")
    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_a_claim_without_devices_of_ours_needs_nothing(bench: Any, claim_of: Callable[..., Any]) -> None:
    foreign = claim_of("u1", bench.node, ["gpu-0"], driver="other.example.com")

    assert bench.driver.prepare(foreign) == ()
    assert bench.leftovers() == []


def test_a_claim_whose_devices_are_on_another_node_is_refused_and_changes_nothing(
    bench: Any, claim_of: Callable[..., Any]
) -> None:
    with pytest.raises(ClaimUnusable, match=f"allocated on another-node, this is {bench.node}") as refused:
        bench.driver.prepare(claim_of("u1", "another-node", ["gpu-0"]))

    assert not refused.value.retry
    assert bench.leftovers() == []


def test_a_whole_gpu_is_given_with_its_own_node_and_mig_mode_off(bench: Any) -> None:
    bench.simulated.gpus.set_mig_mode(bench.uuid(1), enabled=True)

    bench.prepare("u1", "gpu-1")

    edits = json.loads(bench.document("u1").read_text())["devices"][0]["containerEdits"]
    assert not bench.is_in_mig_mode(1)
    assert edits["env"] == [f"TANGRAM_DEVICE_GPU_1={bench.uuid(1)}"]
    assert "/dev/nvidia1" in {node["path"] for node in edits["deviceNodes"]}
    assert not any("nvidia-cap" in node["path"] for node in edits["deviceNodes"])


def test_the_mode_stays_on_until_the_last_claim_of_a_gpu_is_gone(bench: Any) -> None:
    bench.prepare("u1", SMALL)
    bench.prepare("u2", HALF)

    bench.unprepare("u1")
    stays_on = bench.is_in_mig_mode()
    bench.unprepare("u2")

    assert stays_on
    assert not bench.is_in_mig_mode()


@pytest.mark.parametrize("device", ["gpu-0", "gpus-0-1"])
def test_a_mode_that_somebody_turned_on_under_a_claim_goes_off_with_it(
    linked_bench: Any, device: str
) -> None:
    linked_bench.prepare("u1", device)
    linked_bench.simulated.gpus.set_mig_mode(linked_bench.uuid(0), enabled=True)

    linked_bench.unprepare("u1")

    assert linked_bench.leftovers() == []


@pytest.mark.parametrize("node", ["a100x2", "hgx-h100", "a30x4"])
def test_every_mig_partition_that_is_published_can_be_made_and_undone(
    bench_of: Callable[..., Any], node: str
) -> None:
    bench = bench_of(node)
    names = [name for name in bench.names() if name.startswith("gpu-0")]

    for number, name in enumerate(names):
        assert bench.prepare(f"u{number}", name)
        bench.unprepare(f"u{number}")

    assert len(names) > 5
    assert bench.leftovers() == []


def test_a_gpu_without_mig_is_given_whole(bench_of: Callable[..., Any]) -> None:
    bench = bench_of("l40s")

    bench.prepare("u1", "gpu-2")
    bench.unprepare("u1")

    assert bench.leftovers() == []
