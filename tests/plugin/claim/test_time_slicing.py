"""The interval of time slicing: set before the answer, one for a GPU, the default after its last claim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from devices_of_kinds import allocated_device

from agent.hardware.simulated.state import StateFile
from agent.hardware.types import TimeSlice
from plugin.base.errors import ClaimUnusable, DeviceHeld, HardwareFailed
from scheduler_core.model.claim import AllocatedClaim, OpaqueConfig

SHARED = "gpu-0-shared"
NVIDIA = "resource.nvidia.com/v1beta1"


@pytest.fixture
def bench(linked_bench: Any) -> Any:
    return linked_bench


def turns(interval: str | None, api: str = "tangram.dev/v1alpha1") -> tuple[OpaqueConfig, ...]:
    """A configuration for time slicing. Shape: ``interval`` is None where it is not named."""
    sharing: dict[str, Any] = {"strategy": "TimeSlicing"}
    if interval is not None:
        sharing["timeSlicingConfig"] = {"interval": interval}
    parameters = {"apiVersion": api, "kind": "GpuConfig", "sharing": sharing}
    return (OpaqueConfig(driver="tangram.dev", parameters=parameters),)


def share(bench: Any, uid: str, configs: tuple[OpaqueConfig, ...] = ()) -> AllocatedClaim:
    result = allocated_device(SHARED, bench.node, memory="10Gi")
    return replace(bench.claim(uid, configs=configs), results=(result,))


def time_slice(bench: Any, minor: int = 0) -> TimeSlice:
    found: TimeSlice = StateFile(bench.simulated.directory).read().gpus[bench.uuid(minor)].time_slice
    return found


@pytest.mark.parametrize(
    ("interval", "wanted"),
    [("Short", TimeSlice.SHORT), ("Medium", TimeSlice.MEDIUM), ("Long", TimeSlice.LONG)],
)
@pytest.mark.parametrize("api", ["tangram.dev/v1alpha1", NVIDIA])
def test_a_whole_gpu_has_the_interval_of_its_claim_until_the_claim_ends(
    bench: Any, interval: str, wanted: TimeSlice, api: str
) -> None:
    bench.driver.prepare(bench.claim("u1", "gpu-0", configs=turns(interval, api)))
    during = [time_slice(bench, minor) for minor in (0, 1)]
    bench.unprepare("u1")

    assert during == [wanted, TimeSlice.DEFAULT]
    assert bench.leftovers() == []


def test_who_asks_for_time_slicing_alone_gets_the_default_also_after_somebody_else(bench: Any) -> None:
    bench.simulated.gpus.set_time_slice(bench.uuid(0), TimeSlice.LONG)

    bench.driver.prepare(bench.claim("u1", "gpu-0", configs=turns(None)))

    assert time_slice(bench) is TimeSlice.DEFAULT


def test_who_asks_for_nothing_leaves_the_interval_as_it_is(bench: Any) -> None:
    bench.simulated.gpus.set_time_slice(bench.uuid(0), TimeSlice.LONG)

    bench.prepare("u1", "gpu-0")
    bench.unprepare("u1")

    assert time_slice(bench) is TimeSlice.LONG


def test_the_last_claim_with_an_interval_sets_the_default_and_no_earlier_one(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", turns("Long")))
    bench.driver.prepare(share(bench, "u2"))
    bench.driver.prepare(share(bench, "u3", turns("Long")))
    bench.unprepare("u1")
    bench.restart()
    after_first = time_slice(bench)
    bench.unprepare("u3")

    assert after_first is TimeSlice.LONG
    assert time_slice(bench) is TimeSlice.DEFAULT
    assert [record.uid for record in bench.records()] == ["u2"]


def test_another_interval_of_one_gpu_is_refused_with_its_holder_and_nothing_changes(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", turns("Long")))

    with pytest.raises(DeviceHeld) as refused:
        bench.driver.prepare(share(bench, "u2", turns("Short")))

    assert "interval Short differs from Long, which claim default/claim-u1" in str(refused.value)
    assert time_slice(bench) is TimeSlice.LONG
    assert [record.uid for record in bench.records()] == ["u1"]
    bench.unprepare("u1")
    bench.driver.prepare(share(bench, "u2", turns("Short")))
    assert time_slice(bench) is TimeSlice.SHORT


def test_the_interval_of_one_gpu_is_nothing_to_the_shares_of_another(bench: Any) -> None:
    bench.driver.prepare(share(bench, "u1", turns("Long")))
    other = allocated_device("gpu-1-shared", bench.node, memory="10Gi")

    bench.driver.prepare(replace(bench.claim("u2", configs=turns("Short")), results=(other,)))

    assert [time_slice(bench, minor) for minor in (0, 1)] == [TimeSlice.LONG, TimeSlice.SHORT]


def test_an_interval_that_cannot_be_set_fails_the_claim_and_leaves_nothing(bench: Any) -> None:
    bench.inject("gpu-0:set-time-slice:no-permission:1")

    with pytest.raises(HardwareFailed, match="set the interval of time slicing"):
        bench.driver.prepare(bench.claim("u1", "gpu-0", configs=turns("Short")))

    assert bench.leftovers() == []


def test_an_interval_that_cannot_be_set_back_is_set_back_by_the_next_call(bench: Any) -> None:
    bench.driver.prepare(bench.claim("u1", "gpu-0", configs=turns("Short")))
    bench.inject("gpu-0:set-time-slice:no-permission:1")

    with pytest.raises(HardwareFailed):
        bench.unprepare("u1")
    still = time_slice(bench)
    bench.unprepare("u1")

    assert still is TimeSlice.SHORT
    assert bench.leftovers() == []


def test_a_monitor_sets_no_interval(bench: Any) -> None:
    with pytest.raises(ClaimUnusable, match="admin access changes nothing"):
        bench.driver.prepare(bench.claim("u1", "gpu-0", configs=turns("Short"), admin_access=True))

    assert time_slice(bench) is TimeSlice.DEFAULT


@pytest.mark.parametrize(
    ("device", "why"), [("gpus-0-1", "GPUs that NVLink joins"), ("gpu-0-mps", "its programs run at once")]
)
def test_devices_without_turns_of_their_own_are_refused(bench: Any, device: str, why: str) -> None:
    claim = bench.claim("u1", device, configs=turns("Short"))
    if device.endswith("-mps"):
        claim = replace(claim, results=(allocated_device(device, bench.node),))

    with pytest.raises(ClaimUnusable, match=why):
        bench.driver.prepare(claim)
