"""An allocated claim to what has to be prepared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agent.inventory.model import MigPartition, NodeDevices, WholeGpu
from plugin.base.errors import ClaimUnusable, UnknownDevice
from plugin.claim import plan as claims
from plugin.claim.states import State
from scheduler_core.model.claim import AllocatedClaim, OpaqueConfig

UID = "uid-1"
Claims = Callable[..., AllocatedClaim]


@pytest.fixture
def node(dgx_devices: NodeDevices) -> NodeDevices:
    return dgx_devices


def test_names_become_gpus_and_placements(node: NodeDevices, claim_of: Claims) -> None:
    plan = claims.resolve(claim_of(UID, "dgx-a100", ["gpu-3", "gpu-0-mig-3g-20gb-4-7"]), node)

    whole, partition = (planned.device for planned in plan.devices)
    assert isinstance(whole, WholeGpu)
    assert whole.gpu.minor == 3
    assert isinstance(partition, MigPartition)
    assert (partition.profile.name, partition.placement.start, partition.placement.size) == ("3g.20gb", 4, 4)
    assert len(plan.gpus) == 2


def test_a_result_of_a_subrequest_answers_its_request(node: NodeDevices, claim_of: Claims) -> None:
    plan = claims.resolve(claim_of(UID, "dgx-a100", ["gpu-0"], request="req/sub"), node)

    assert plan.devices[0].requests == ("req",)


def test_results_of_other_drivers_and_pools_are_passed_over(node: NodeDevices, claim_of: Claims) -> None:
    foreign = claim_of(UID, "dgx-a100", ["gpu-0"], driver="other.example.com")
    elsewhere = claim_of(UID, "another-node", ["gpu-0"])

    assert claims.resolve(foreign, node).devices == ()
    assert claims.resolve(elsewhere, node).devices == ()


def test_an_unknown_device_is_refused_by_name(node: NodeDevices, claim_of: Claims) -> None:
    with pytest.raises(UnknownDevice, match=r"gpu-77 of claim default/claim-uid-1.*no such device.*agent"):
        claims.resolve(claim_of(UID, "dgx-a100", ["gpu-77"]), node)


@pytest.mark.parametrize(("is_kind", "kind"), [("WholeNic", "a NIC"), ("NicVf", "virtual function")])
def test_a_nic_is_refused_by_kind(node: NodeDevices, claim_of: Claims, is_kind: str, kind: str) -> None:
    name = next(name for name, device in node.by_name.items() if type(device).__name__ == is_kind)

    with pytest.raises(ClaimUnusable, match=f"{name}.*{kind}"):
        claims.resolve(claim_of(UID, "dgx-a100", [name]), node)


def test_parameters_for_this_driver_are_refused_and_those_of_others_are_not(
    node: NodeDevices, claim_of: Claims
) -> None:
    ours = OpaqueConfig(driver="tangram.dev", parameters={"sharing": "yes"})
    theirs = OpaqueConfig(driver="other.example.com", parameters={"sharing": "yes"})

    with pytest.raises(ClaimUnusable, match=r"opaque parameters for tangram\.dev"):
        claims.resolve(claim_of(UID, "dgx-a100", ["gpu-0"], configs=(theirs, ours)), node)
    assert claims.resolve(claim_of(UID, "dgx-a100", ["gpu-0"], configs=(theirs,)), node).devices


def test_a_device_that_is_named_twice_is_refused(node: NodeDevices, claim_of: Claims) -> None:
    with pytest.raises(ClaimUnusable, match=r"names device .*gpu-0 twice"):
        claims.resolve(claim_of(UID, "dgx-a100", ["gpu-0", "gpu-0"]), node)


@pytest.mark.parametrize("sharing", [{"admin_access": True}, {"share_id": "share-1"}])
def test_a_device_that_others_may_use_too_is_refused(
    node: NodeDevices, claim_of: Claims, sharing: dict[str, Any]
) -> None:
    claim = claim_of(UID, "dgx-a100", ["gpu-0"])
    shared = replace(claim, results=(replace(claim.results[0], **sharing),))

    with pytest.raises(
        ClaimUnusable, match=r"gpu-0 of claim default/claim-uid-1.*no admin access and no shares"
    ):
        claims.resolve(shared, node)


def test_a_uid_that_cannot_name_files_is_refused(node: NodeDevices, claim_of: Claims) -> None:
    with pytest.raises(ClaimUnusable, match="UID"):
        claims.resolve(claim_of("../../etc", "dgx-a100", ["gpu-0"]), node)


def test_the_record_of_a_plan_holds_everything_that_undoing_needs(
    node: NodeDevices, claim_of: Claims
) -> None:
    plan = claims.resolve(claim_of(UID, "dgx-a100", ["gpu-0-mig-2g-10gb-2-3", "gpu-1"]), node)

    record = claims.started(plan, "tangram.dev", "boot-1")

    partition = plan.devices[0].device
    assert isinstance(partition, MigPartition)
    assert record.state is State.STARTED
    assert record.devices[0].gpu == partition.gpu.uuid
    assert record.devices[0].spec == partition.spec  # type: ignore[union-attr]
    assert claims.matches(record, plan)


def test_a_record_of_another_allocation_does_not_match(node: NodeDevices, claim_of: Claims) -> None:
    plan = claims.resolve(claim_of(UID, "dgx-a100", ["gpu-0-mig-2g-10gb-2-3"]), node)
    other = claims.resolve(claim_of(UID, "dgx-a100", ["gpu-0-mig-2g-10gb-4-5"]), node)

    assert not claims.matches(claims.started(other, "tangram.dev", "boot-1"), plan)


def test_resolving_has_no_memory(node: NodeDevices, claim_of: Claims) -> None:
    claim = claim_of(UID, "dgx-a100", ["gpu-0"])

    assert claims.resolve(claim, node) == claims.resolve(claim, node)
