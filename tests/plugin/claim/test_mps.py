"""Claims under MPS: limits and pipes of their containers, and who may share a GPU."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claims_under_mps import (
    MIG,
    SHARE,
    health_of,
    is_running,
    mode,
    offering,
    pid,
    share,
    under_mps,
    variables,
    writable,
)
from devices_of_kinds import MPS_SHARING, allocated_device

from agent.hardware.mps.ports import daemon_name
from agent.hardware.types import ComputeMode
from plugin.assembly import assemble
from plugin.base.errors import ClaimUnusable, DeviceHeld, PlacementTaken
from plugin.kinds.health import Health


@pytest.fixture
def bench(linked_bench: Any) -> Iterator[Any]:
    """Two A100s with programs under MPS; no daemon outlives the test."""
    yield linked_bench
    for name in linked_bench.machine.mps.names():
        linked_bench.machine.mps.end_daemon(name)


def test_each_claim_gets_its_own_limits_and_all_get_the_pipes_of_one_daemon(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", "10Gi", "49"))
    bench.driver.prepare(share(bench, "u2", "4Gi"))

    assert variables(bench, "u1") == {
        "PIPE_DIRECTORY": "/tmp/nvidia-mps",
        "ACTIVE_THREAD_PERCENTAGE": "50",
        "PINNED_DEVICE_MEM_LIMIT": "0=10240M",
    }
    assert variables(bench, "u2") == {
        "PIPE_DIRECTORY": "/tmp/nvidia-mps",
        "PINNED_DEVICE_MEM_LIMIT": "0=4096M",
    }
    folders = bench.machine.mps.folders(daemon_name(bench.uuid(0)))
    shared = {"/tmp/nvidia-mps": folders.pipe, "/dev/shm": folders.shared_memory}
    assert writable(bench, "u1") == writable(bench, "u2") == shared
    assert (folders.pipe / "control").is_socket()
    assert len(bench.machine.mps.names()) == 1


def test_a_percentage_is_of_the_whole_gpu_also_where_that_is_not_offered(bench: Any) -> None:
    offering(bench, whole=False, mig=False, mps=100)

    bench.driver.prepare(share(bench, "u1", "10Gi", "49"))

    assert variables(bench, "u1")["ACTIVE_THREAD_PERCENTAGE"] == "50"


def test_programs_without_mps_are_not_locked_out_where_they_have_a_part_of_the_gpu(bench: Any) -> None:
    offering(bench, shared=50, mps=50)
    turns = allocated_device("gpu-0-shared", bench.node)

    bench.driver.prepare(share(bench, "u1", "10Gi", "49"))
    bench.driver.prepare(replace(bench.claim("u2"), results=(turns,)))

    assert is_running(bench, bench.uuid(0))
    assert mode(bench) is ComputeMode.DEFAULT
    assert variables(bench, "u1")["ACTIVE_THREAD_PERCENTAGE"] == "50"
    bench.unprepare("u1")
    bench.unprepare("u2")
    assert bench.leftovers() == []


def test_a_small_share_of_the_multiprocessors_is_one_percent_and_never_none(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", "1Gi", "1"))

    assert variables(bench, "u1")["ACTIVE_THREAD_PERCENTAGE"] == "1"


def test_lower_limits_of_the_configuration_count_and_higher_ones_do_not_widen_a_share(bench: Any) -> None:
    narrow = under_mps(**MPS_SHARING | {"mpsConfig": {"defaultPinnedDeviceMemoryLimit": "1Gi"}})
    wide = under_mps(**MPS_SHARING | {"mpsConfig": {"defaultPinnedDeviceMemoryLimit": "30Gi"}})

    bench.driver.prepare(share(bench, "u1", "10Gi", configs=narrow))
    bench.driver.prepare(share(bench, "u2", "10Gi", configs=wide))

    limits = [variables(bench, uid)["PINNED_DEVICE_MEM_LIMIT"] for uid in ("u1", "u2")]
    assert limits == ["0=1024M", "0=10240M"]


def test_shares_beyond_the_memory_are_refused_as_the_scheduler_counts_them(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", "30Gi"))

    with pytest.raises(DeviceHeld, match="claim-u1"):
        bench.driver.prepare(share(bench, "u2", "20Gi"))


@pytest.mark.parametrize("other", ["gpu-0", MIG])
def test_whoever_wants_the_gpu_otherwise_is_refused_while_it_is_under_mps(bench: Any, other: str) -> None:
    bench.driver.prepare(share(bench, "u1"))

    with pytest.raises(DeviceHeld, match="claim-u1"):
        bench.prepare("u2", other)


def test_a_whole_gpu_under_mps_has_the_limits_in_its_daemon_and_in_its_containers(bench: Any) -> None:
    commands: list[tuple[object, ...]] = []
    limit = bench.machine.mps.limit_programs

    class Listening:
        def __getattr__(self, name: str) -> Any:
            return getattr(bench.machine.mps, name)

        def limit_programs(self, *arguments: Any) -> None:
            commands.append(arguments[1:])
            limit(*arguments)

    machine = replace(bench.machine, mps=Listening())
    driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)
    driver.prepare(bench.claim("u1", "gpu-0", configs=under_mps()))

    ((limits, device),) = commands
    assert (limits.active_thread_percentage, limits.memory_mib, device) == (50, 2048, bench.uuid(0))
    assert variables(bench, "u1") == {
        "PIPE_DIRECTORY": "/tmp/nvidia-mps",
        "ACTIVE_THREAD_PERCENTAGE": "50",
        "PINNED_DEVICE_MEM_LIMIT": "0=2048M",
    }
    bench.unprepare("u1")
    assert bench.leftovers() == []


@pytest.mark.parametrize("key", ["1", "uuid"])
def test_a_limit_by_device_is_for_that_device_alone(bench: Any, key: str) -> None:
    limits = {bench.uuid(1) if key == "uuid" else key: "3Gi"}
    config = under_mps(strategy="MPS", mpsConfig={"defaultPerDevicePinnedMemoryLimit": limits})
    first, second = bench.claim("u1", "gpu-0", request="a"), bench.claim("u1", "gpu-1", request="b")
    claim = replace(first, results=(*first.results, *second.results), configs=config)

    bench.driver.prepare(claim)

    devices = json.loads(bench.document("u1").read_text())["devices"]
    texts = [" ".join(device["containerEdits"]["env"]) for device in devices]
    assert ["MEM_LIMIT=0=3072M" in text for text in texts] == [False, True]
    assert ["MEM_LIMIT" in text for text in texts] == [False, True]


def test_devices_of_one_request_that_need_two_daemons_are_refused(bench: Any) -> None:
    both = (allocated_device(SHARE, bench.node), allocated_device("gpu-1-mps", bench.node))

    with pytest.raises(ClaimUnusable, match="a program can use one MPS daemon only"):
        bench.driver.prepare(replace(bench.claim("u1"), results=both))

    apart = (both[0], replace(both[1], request="other"))
    assert len(bench.driver.prepare(replace(bench.claim("u1"), results=apart))) == 2


def test_a_mig_partition_under_mps_has_a_daemon_for_its_mig_device(bench: Any) -> None:
    bench.driver.prepare(bench.claim("u1", MIG, configs=under_mps("MigConfig")))

    ((instance,),) = (bench.instances(),)
    uuid = instance.compute_instances[0].uuid
    assert is_running(bench, uuid)
    environment = Path(f"/proc/{pid(bench, uuid)}/environ").read_text().split("\0")
    assert f"CUDA_VISIBLE_DEVICES={uuid}" in environment
    assert mode(bench) is ComputeMode.DEFAULT
    assert health_of(bench, MIG) == (Health.HEALTHY, "")


def test_a_gpu_that_is_cut_is_not_put_under_mps(bench: Any) -> None:
    bench.prepare("u1", "gpu-0-mig-1g-5gb-2")
    claim = share(bench, "u2")
    for path in (bench.options.claims_dir / "u1.json", bench.document("u1")):
        path.unlink()

    with pytest.raises(PlacementTaken, match="it is cut into"):
        bench.driver.prepare(claim)

    assert bench.machine.mps.names() == ()


def test_admin_access_to_a_gpu_under_mps_is_refused(bench: Any) -> None:
    claim = replace(bench.claim("u1", "gpu-0", admin_access=True), configs=under_mps())

    with pytest.raises(ClaimUnusable, match="admin access changes nothing"):
        bench.driver.prepare(claim)
