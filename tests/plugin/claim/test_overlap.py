"""What other claims hold on the node, counted by the core's ledger."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from agent.inventory.model import NodeDevices
from plugin.base.errors import ClaimUnusable, DeviceHeld
from plugin.claim.overlap import refuse_overlap
from plugin.claim.plan import resolve
from plugin.claim.record import Record
from plugin.claim.states import State

Claims = Callable[..., Record]
HALF, OTHER_HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-3g-20gb-0-3", "gpu-0-mig-1g-5gb-4"


@pytest.fixture
def plan_of(dgx_devices: NodeDevices, claim_of: Callable[..., object]) -> Claims:
    return lambda uid, *devices: resolve(claim_of(uid, "dgx-a100", devices), dgx_devices, "boot-1")  # type: ignore[arg-type]


@pytest.fixture
def record_of(plan_of: Claims) -> Callable[..., Record]:
    return plan_of


def test_what_lies_beside_other_claims_is_free(
    dgx_devices: NodeDevices, plan_of: Claims, record_of: Callable[..., Record]
) -> None:
    refuse_overlap(plan_of("u2", OTHER_HALF, "gpu-1"), [record_of("u1", HALF)], dgx_devices)


@pytest.mark.parametrize("state", [State.STARTED, State.COMPLETED, State.UNDOING])
def test_a_claim_holds_its_devices_in_every_state(
    dgx_devices: NodeDevices, plan_of: Claims, record_of: Callable[..., Record], state: State
) -> None:
    held = record_of("u1", HALF).in_state(state)

    with pytest.raises(DeviceHeld, match=rf"{SMALL} for claim default/claim-u2: .*claim-u1 \({state}\)"):
        refuse_overlap(plan_of("u2", SMALL), [held], dgx_devices)


def test_a_claim_never_stands_in_its_own_way(
    dgx_devices: NodeDevices, plan_of: Claims, record_of: Callable[..., Record]
) -> None:
    refuse_overlap(plan_of("u1", HALF), [record_of("u1", HALF)], dgx_devices)


def test_two_devices_of_one_claim_must_fit_beside_each_other(
    dgx_devices: NodeDevices, plan_of: Claims
) -> None:
    with pytest.raises(ClaimUnusable) as refusal:
        refuse_overlap(plan_of("u1", HALF, SMALL), [], dgx_devices)

    text = str(refusal.value)
    assert f"device {SMALL} for claim default/claim-u1: " in text
    assert f"held by the claim itself ({HALF}); allocate the claim anew" in text
    assert "other claim" not in text
    assert not refusal.value.retry


def test_a_claim_whose_devices_fit_beside_each_other_waits_for_the_other_claim_only(
    dgx_devices: NodeDevices, plan_of: Claims, record_of: Callable[..., Record]
) -> None:
    with pytest.raises(DeviceHeld, match=r"claim-u1 .*until the other claim is unprepared"):
        refuse_overlap(plan_of("u2", OTHER_HALF, SMALL), [record_of("u1", HALF)], dgx_devices)


def test_a_held_device_is_known_by_its_hardware_whatever_its_name_is_now(
    dgx_devices: NodeDevices, plan_of: Claims, record_of: Callable[..., Record]
) -> None:
    record = record_of("u1", HALF)
    renamed = msgspec.structs.replace(
        record, devices=(msgspec.structs.replace(record.devices[0], device="gpu-9-mig-3g-20gb-4-7"),)
    )

    with pytest.raises(DeviceHeld, match="claim-u1"):
        refuse_overlap(plan_of("u2", HALF), [renamed], dgx_devices)


def test_a_device_of_a_gpu_that_is_gone_holds_nothing_of_the_others(
    dgx_devices: NodeDevices, plan_of: Claims, record_of: Callable[..., Record]
) -> None:
    record = record_of("u1", "gpu-0")
    gone = msgspec.structs.replace(
        record, devices=(msgspec.structs.replace(record.devices[0], gpu_uuid="GPU-gone"),)
    )

    refuse_overlap(plan_of("u2", "gpu-0"), [gone], dgx_devices)
