"""What a claim's status says of its devices."""

from __future__ import annotations

from datetime import datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from plugin.kinds.registry import ClaimedDevice
from plugin.kinds.whole_gpus.gpu_partition import ClaimedGpuPartition
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from plugin.telling.status import Failure, device_statuses, failure_statuses
from scheduler_core.model.claim import AllocatedDevice
from scheduler_core.model.device import DeviceId, DeviceName

COMMON = {"requests": ("r",), "pool": "node-1", "cdi_id": "tangram.dev/claim=x"}
DEVICES: tuple[ClaimedDevice, ...] = (
    ClaimedGpu(device="gpu-0", gpu_uuid="GPU-0", **COMMON),  # type: ignore[arg-type]
    ClaimedGpuPartition(device="gpus-1-2", gpu_uuids=("GPU-1", "GPU-2"), **COMMON),  # type: ignore[arg-type]
    ClaimedMigPartition(
        device="half", parent_uuid="GPU-3", profile_id=9, start=4, size=4, gi_id=1, ci_id=0, mig_uuid="MIG-1",
        **COMMON,  # type: ignore[arg-type]
    ),
)  # fmt: skip
COMPLETED = Record(
    claim_uid="u1",
    namespace="default",
    name="train",
    driver="tangram.dev",
    boot_id="boot-1",
    state=State.COMPLETED,
    devices=DEVICES,
)
names = st.sampled_from(["gpu-0", "gpu-1"])
allocated = st.builds(
    AllocatedDevice,
    st.just("r"),
    st.builds(DeviceId, st.just("tangram.dev"), st.just("node-1"), names.map(DeviceName)),
    share_id=st.sampled_from([None, "share-1"]),
)


def test_each_device_is_ready_since_its_claim_was_completed_and_named_by_its_hardware() -> None:
    statuses = device_statuses(COMPLETED, 1_800_000_000.7)

    assert [status["device"] for status in statuses] == ["gpu-0", "gpus-1-2", "half"]
    assert [status["data"] for status in statuses] == [
        {"cdiDeviceIDs": ["tangram.dev/claim=x"], "uuid": "GPU-0"},
        {"cdiDeviceIDs": ["tangram.dev/claim=x"], "uuids": ["GPU-1", "GPU-2"]},
        {
            "cdiDeviceIDs": ["tangram.dev/claim=x"],
            "uuid": "MIG-1",
            "parentUUID": "GPU-3",
            "placement": {"start": 4, "size": 4},
        },
    ]
    (condition,) = statuses[0]["conditions"]
    since = datetime.fromisoformat(condition["lastTransitionTime"])
    assert (condition["type"], condition["status"]) == ("Ready", "True")
    assert since.timestamp() == 1_800_000_000


@pytest.mark.parametrize("state", [State.STARTED, State.UNDOING])
def test_a_claim_that_is_not_prepared_has_no_entries(state: State) -> None:
    assert device_statuses(msgspec.structs.replace(COMPLETED, state=state), 0.0) == ()
    assert device_statuses(None, 0.0) == ()


@given(devices=st.lists(allocated, max_size=6), length=st.integers(min_value=0, max_value=3000))
def test_a_failure_is_said_once_of_each_device_and_its_message_has_a_limit(
    devices: list[AllocatedDevice], length: int
) -> None:
    statuses = failure_statuses(Failure(tuple(devices), "x" * length, 0.0))

    keys = [(one["device"], one.get("shareID")) for one in statuses]
    messages = {one["conditions"][0]["message"] for one in statuses}
    assert len(keys) == len(set(keys))
    assert set(keys) == {(one.device.device, one.share_id) for one in devices}
    assert all(len(message) == min(length, 1024) for message in messages)


def test_only_a_device_with_admin_access_says_so() -> None:
    looked_at = msgspec.structs.replace(DEVICES[0], admin_access=True)
    record = msgspec.structs.replace(COMPLETED, devices=(looked_at, DEVICES[2]))

    first, second = device_statuses(record, 0.0)

    assert first["data"]["adminAccess"] is True
    assert "adminAccess" not in second["data"]
