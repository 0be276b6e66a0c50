"""Claims under MPS: one daemon for a GPU or MIG device, from the first claim to the last."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import MPS_SHARING, allocated_device, told

from agent.hardware.mps.ports import daemon_name
from agent.hardware.types import ComputeMode
from agent.inventory.modes import GpuModes, ModesOfGpu
from plugin.assembly import assemble
from plugin.base.errors import ClaimUnusable, DeviceHeld, HardwareFailed, PlacementTaken
from plugin.kinds.health import Health
from scheduler_core.base.quantity import Quantity
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid, OpaqueConfig

SHARE = "gpu-0-mps"
MIG = "gpu-0-mig-3g-20gb-4-7"
PROGRAM = "usr/bin/nvidia-cuda-mps-control"


@pytest.fixture
def bench(linked_bench: Any) -> Iterator[Any]:
    """Two A100s with programs under MPS; no daemon outlives the test."""
    yield linked_bench
    for name in linked_bench.machine.mps.names():
        linked_bench.machine.mps.end_daemon(name)


def share(bench: Any, uid: str, memory: str = "10Gi", processors: str = "0", **more: Any) -> AllocatedClaim:
    """A claim with a share of the first GPU under MPS."""
    amounts = {"memory": Quantity.parse(memory), "multiprocessors": Quantity.parse(processors)}
    result = replace(allocated_device(SHARE, bench.node), consumed=amounts)
    return replace(bench.claim(uid, **more), results=(result,))


def under_mps(kind: str = "GpuConfig", **sharing: Any) -> tuple[OpaqueConfig, ...]:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": kind, "sharing": sharing or MPS_SHARING}
    return (OpaqueConfig(driver="tangram.dev", parameters=parameters),)


def edits(bench: Any, uid: str) -> dict[str, Any]:
    (device,) = json.loads(bench.document(uid).read_text())["devices"]
    found: dict[str, Any] = device["containerEdits"]
    return found


def variables(bench: Any, uid: str) -> dict[str, str]:
    """What programs under MPS read of their environment."""
    given = dict(one.split("=", 1) for one in edits(bench, uid)["env"])
    return {name.removeprefix("CUDA_MPS_"): text for name, text in given.items() if name.startswith("CUDA")}


def writable(bench: Any, uid: str) -> dict[str, Path]:
    """The folders of the host that a container may write to, by its own names for them."""
    mounts = edits(bench, uid)["mounts"]
    return {one["containerPath"]: Path(one["hostPath"]) for one in mounts if "rw" in one["options"]}


def pid(bench: Any, uuid: str) -> int:
    folders = bench.machine.mps.folders(daemon_name(uuid))
    return int((folders.pipe / "nvidia-cuda-mps-control.pid").read_text())


def killed(bench: Any, uuid: str) -> int:
    """Kill a daemon as a crash would, and return the number that it had."""
    number = pid(bench, uuid)
    os.kill(number, signal.SIGKILL)
    while bench.machine.mps.is_running(daemon_name(uuid)):
        pass
    return number


def is_running(bench: Any, uuid: str) -> bool:
    found: bool = bench.machine.mps.is_running(daemon_name(uuid))
    return found


def has_environment(number: int) -> bool:
    """Whether a process is alive: one that has ended has none, until it is collected."""
    try:
        return bool(Path(f"/proc/{number}/environ").read_bytes())
    except OSError:
        return False


def mode(bench: Any, minor: int = 0) -> ComputeMode:
    found: ComputeMode = bench.simulated.gpus.compute_mode(bench.uuid(minor))
    return found


def health_of(bench: Any, device: str) -> tuple[Health, str]:
    (found,) = (one for one in bench.driver.health.read() if one.device == device)
    return found.health, found.message


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


def offering(bench: Any, **modes: Any) -> None:
    """Have the bench's plugin offer GPUs in other modes."""
    bench.options = replace(bench.options, modes=GpuModes(ModesOfGpu(**modes)))
    bench.restart()


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


def test_the_daemon_of_several_claims_ends_with_the_last_of_them(bench: Any) -> None:
    for uid in ("u1", "u2"):
        bench.driver.prepare(share(bench, uid))
    number = pid(bench, bench.uuid(0))

    bench.unprepare("u1")
    assert pid(bench, bench.uuid(0)) == number
    assert mode(bench) is ComputeMode.EXCLUSIVE_PROCESS

    bench.unprepare("u2")
    assert not has_environment(number)
    assert bench.leftovers() == []


@pytest.mark.parametrize("before", [ComputeMode.PROHIBITED, ComputeMode.EXCLUSIVE_PROCESS])
def test_the_compute_mode_is_as_it_was_once_the_last_claim_has_ended(bench: Any, before: ComputeMode) -> None:
    bench.simulated.gpus.set_compute_mode(bench.uuid(0), before)
    bench.driver.prepare(share(bench, "u1"))
    bench.restart()
    bench.driver.prepare(share(bench, "u2"))
    assert mode(bench) is ComputeMode.EXCLUSIVE_PROCESS

    bench.unprepare("u1")
    bench.unprepare("u2")

    assert mode(bench) is before


def test_a_compute_mode_that_somebody_set_meanwhile_stays(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    bench.simulated.gpus.set_compute_mode(bench.uuid(0), ComputeMode.PROHIBITED)

    bench.unprepare("u1")

    assert mode(bench) is ComputeMode.PROHIBITED


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


def test_the_daemon_of_a_mig_partition_ends_before_its_instance(bench: Any) -> None:
    bench.driver.prepare(bench.claim("u1", MIG, configs=under_mps("MigConfig")))
    calls: list[str] = []
    machine = told(bench.machine, calls.append, lambda _: None)
    driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    driver.unprepare(ClaimUid("u1"), ClaimRef("default", "claim-u1"))

    assert calls.index("end_daemon") < calls.index("destroy_compute_instance")
    assert bench.leftovers() == []


def test_a_mig_device_that_was_made_anew_gets_a_daemon_and_the_old_one_ends(bench: Any) -> None:
    claim = bench.claim("u1", MIG, configs=under_mps("MigConfig"))
    bench.driver.prepare(claim)
    (instance,) = bench.instances()
    (old,) = (compute.uuid for compute in instance.compute_instances)
    bench.simulated.gpus.destroy_compute_instance(bench.uuid(0), instance.gi_id, 0)
    bench.simulated.gpus.destroy_gpu_instance(bench.uuid(0), instance.gi_id)

    bench.driver.prepare(claim)

    (new,) = (compute.uuid for found in bench.instances() for compute in found.compute_instances)
    assert bench.machine.mps.names() == (daemon_name(new),)
    assert (is_running(bench, old), is_running(bench, new)) == (False, True)


def test_instances_under_mps_are_ours_at_the_start(bench: Any, caplog: pytest.LogCaptureFixture) -> None:
    bench.driver.prepare(bench.claim("u1", MIG, configs=under_mps("MigConfig")))

    bench.restart()

    assert "no claim created" not in caplog.text


def test_a_daemon_that_runs_is_adopted_by_the_next_plugin(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    number = pid(bench, bench.uuid(0))

    bench.restart()
    bench.driver.prepare(share(bench, "u1"))
    bench.driver.prepare(share(bench, "u2"))

    assert pid(bench, bench.uuid(0)) == number


def revived_by_a_start(bench: Any) -> None:
    bench.restart()


def revived_by_looking(bench: Any) -> None:
    bench.driver.care.look_after()


def revived_by_the_kubelet(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))


@pytest.mark.parametrize("revive", [revived_by_a_start, revived_by_looking, revived_by_the_kubelet])
def test_a_daemon_that_died_is_reported_and_started_again(bench: Any, revive: Callable[[Any], None]) -> None:
    bench.driver.prepare(share(bench, "u1"))
    killed(bench, bench.uuid(0))
    assert health_of(bench, SHARE) == (
        Health.UNHEALTHY,
        "its MPS daemon does not run; it is started again",
    )

    revive(bench)

    assert is_running(bench, bench.uuid(0))
    assert health_of(bench, SHARE) == (Health.HEALTHY, "")
    assert mode(bench) is ComputeMode.EXCLUSIVE_PROCESS


def test_a_daemon_that_cannot_be_started_again_is_told_once_and_its_claim_still_ends(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.driver.prepare(share(bench, "u1"))
    killed(bench, bench.uuid(0))
    (bench.simulated.root / PROGRAM).unlink()

    for _ in range(3):
        bench.driver.care.look_after()

    assert caplog.text.count("cannot be kept") == 1
    assert "the operator must install the driver's MPS programs" in caplog.text
    assert health_of(bench, SHARE)[0] is Health.UNHEALTHY
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_a_daemon_whose_claim_has_no_record_any_more_is_ended(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    (bench.options.claims_dir / "u1.json").write_text("damaged")

    bench.restart()

    assert bench.machine.mps.names() == ()
    assert mode(bench) is ComputeMode.DEFAULT


def test_the_daemon_of_a_claim_that_is_well_is_left_alone(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    calls: list[str] = []
    machine = told(bench.machine, calls.append, lambda _: None)
    driver = assemble(machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)

    driver.care.look_after()

    assert calls == []


def test_after_a_reboot_nothing_is_left_of_claims_under_mps(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1"))
    bench.simulated.reboot()

    bench.restart()

    assert bench.leftovers() == []
    bench.driver.prepare(share(bench, "u2"))
    assert is_running(bench, bench.uuid(0))


def test_without_the_program_prepare_is_refused_and_leaves_nothing(bench: Any) -> None:
    (bench.simulated.root / PROGRAM).unlink()

    with pytest.raises(HardwareFailed, match="nvidia-cuda-mps-control"):
        bench.driver.prepare(share(bench, "u1"))

    assert bench.leftovers() == []


@pytest.mark.parametrize("call", ["set-compute-mode", "compute-mode"])
def test_a_gpu_that_fails_while_it_is_made_exclusive_leaves_nothing(bench: Any, call: str) -> None:
    bench.inject(f"gpu-0:{call}:hardware-fault:1")

    with pytest.raises(HardwareFailed):
        bench.driver.prepare(share(bench, "u1"))

    assert bench.leftovers() == []
    assert len(bench.driver.prepare(share(bench, "u1"))) == 1


def test_a_gpu_without_compute_modes_is_used_all_the_same(
    bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    bench.inject("gpu-0:compute-mode:not-supported")

    bench.driver.prepare(share(bench, "u1"))

    assert is_running(bench, bench.uuid(0))
    assert "programs may go past the MPS daemon of gpu-0-mps" in caplog.text
    bench.simulated.clear_faults()
    bench.unprepare("u1")
    assert bench.leftovers() == []


def test_a_gpu_that_is_cut_is_not_put_under_mps(bench: Any) -> None:
    bench.prepare("u1", "gpu-0-mig-1g-5gb-2")
    claim = share(bench, "u2")
    (bench.options.claims_dir / "u1.json").unlink()

    with pytest.raises(PlacementTaken, match="it is cut into"):
        bench.driver.prepare(claim)

    assert bench.machine.mps.names() == ()


def test_admin_access_to_a_gpu_under_mps_is_refused(bench: Any) -> None:
    claim = replace(bench.claim("u1", "gpu-0", admin_access=True), configs=under_mps())

    with pytest.raises(ClaimUnusable, match="no admin access"):
        bench.driver.prepare(claim)
