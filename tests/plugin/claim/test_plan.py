"""An allocated claim to what has to be prepared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agent.inventory.model import NodeDevices
from agent.inventory.published import MigPartition, WholeGpu
from plugin.base.errors import ClaimUnusable, UnknownDevice
from plugin.claim.plan import is_same_allocation, resolve
from plugin.claim.states import State
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from plugin.machine.lock_target import LockTarget
from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.configuration.check import type_of, unprepared_devices
from scheduler_core.frontends.configuration.values import CONFIG_OF
from scheduler_core.model.claim import AllocatedClaim, OpaqueConfig
from scheduler_core.model.device import DeviceName

UID, BOOT = "uid-1", "boot-1"
V1: dict[str, Any] = {"apiVersion": "tangram.dev/v1alpha1"}
Claims = Callable[..., AllocatedClaim]


@pytest.fixture
def node(dgx_devices: NodeDevices) -> NodeDevices:
    return dgx_devices


def test_names_become_gpus_and_placements(node: NodeDevices, claim_of: Claims) -> None:
    plan = resolve(claim_of(UID, "dgx-a100", ["gpu-3", "gpu-0-mig-3g-20gb-4-7"]), node, BOOT)

    whole, mig = plan.devices
    gpu, cut = (node.by_name[DeviceName(device.device)] for device in plan.devices)
    assert isinstance(gpu, WholeGpu)
    assert gpu.gpu.minor == 3
    assert isinstance(whole, ClaimedGpu)
    assert whole.gpu_uuid == gpu.gpu.uuid
    assert isinstance(cut, MigPartition)
    assert cut.profile.name == "3g.20gb"
    assert isinstance(mig, ClaimedMigPartition)
    assert (mig.profile_id, mig.start, mig.size) == (cut.profile.profile_id, 4, 4)
    assert plan.lock_targets == {LockTarget("GPU", gpu.gpu.uuid), LockTarget("GPU", cut.gpu.uuid)}


def test_a_result_of_a_subrequest_answers_its_request(node: NodeDevices, claim_of: Claims) -> None:
    plan = resolve(claim_of(UID, "dgx-a100", ["gpu-0"], request="req/sub"), node, BOOT)

    assert plan.devices[0].requests == ("req",)


def test_results_of_other_drivers_are_passed_over_wherever_they_are(
    node: NodeDevices, claim_of: Claims
) -> None:
    for pool in ("dgx-a100", "another-node"):
        foreign = claim_of(UID, pool, ["gpu-0"], driver="other.example.com")

        assert resolve(foreign, node, BOOT).devices == ()


@pytest.mark.parametrize("more", [{}, {"admin_access": True}], ids=str)
def test_a_claim_whose_devices_are_all_on_another_node_is_refused_and_never_empty(
    node: NodeDevices, claim_of: Claims, more: dict[str, Any]
) -> None:
    elsewhere = claim_of(UID, "node-1", ["gpu-0", "gpu-1"], **more)

    with pytest.raises(ClaimUnusable, match=r"allocated on node-1, this is dgx-a100; the user .*nodeName"):
        resolve(elsewhere, node, BOOT)


def test_devices_of_other_nodes_are_passed_over_beside_one_of_this_node(
    node: NodeDevices, claim_of: Claims
) -> None:
    here, there = claim_of(UID, "dgx-a100", ["gpu-3"]), claim_of(UID, "node-1", ["gpu-0"])
    foreign = claim_of(UID, "node-1", ["d"], driver="other.example.com")
    both = replace(here, results=(*foreign.results, *there.results, *here.results))

    assert [device.device for device in resolve(both, node, BOOT).devices] == ["gpu-3"]


def test_an_unknown_device_is_refused_by_name(node: NodeDevices, claim_of: Claims) -> None:
    with pytest.raises(UnknownDevice, match=r"gpu-77 of claim default/claim-uid-1.*no such device.*agent"):
        resolve(claim_of(UID, "dgx-a100", ["gpu-77"]), node, BOOT)


def test_a_wrong_configuration_for_this_driver_is_refused_and_those_of_others_are_not_read(
    node: NodeDevices, claim_of: Claims
) -> None:
    ours = OpaqueConfig(driver="tangram.dev", parameters=V1 | {"kind": "GpuConfig", "share": "yes"})
    theirs = OpaqueConfig(driver="other.example.com", parameters={"sharing": "yes"})

    with pytest.raises(
        ClaimUnusable, match=r"claim default/claim-uid-1: all requests: GpuConfig\.share: unknown"
    ):
        resolve(claim_of(UID, "dgx-a100", ["gpu-0"], configs=(theirs, ours)), node, BOOT)
    assert resolve(claim_of(UID, "dgx-a100", ["gpu-0"], configs=(theirs,)), node, BOOT).devices


def test_a_configuration_without_any_effect_leaves_the_plan_as_it_is(
    node: NodeDevices, claim_of: Claims
) -> None:
    configs = tuple(
        OpaqueConfig(driver="tangram.dev", parameters=V1 | {"kind": kind})
        for kind in ("GpuConfig", "MigConfig")
    )
    names = ["gpu-3", "gpu-0-mig-3g-20gb-4-7"]

    plan = resolve(claim_of(UID, "dgx-a100", names, configs=configs), node, BOOT)

    assert plan == resolve(claim_of(UID, "dgx-a100", names), node, BOOT)


@pytest.mark.parametrize(
    ("device", "parameters", "said"),
    [
        (
            "gpu-0",
            {"kind": "MigConfig"},
            "is for devices of type mig or compute-instance; the claim requests no such device",
        ),
    ],
)
def test_a_configuration_that_this_version_cannot_carry_out_is_refused(
    node: NodeDevices, claim_of: Claims, device: str, parameters: dict[str, Any], said: str
) -> None:
    config = OpaqueConfig(driver="tangram.dev", parameters=V1 | parameters)

    with pytest.raises(ClaimUnusable, match=said):
        resolve(claim_of(UID, "dgx-a100", [device], configs=(config,)), node, BOOT)


@pytest.mark.parametrize("is_kind", ["WholeNic", "NicVf", "WholeGpu", "MigPartition"])
def test_a_kind_of_device_is_refused_with_the_words_that_front_ends_use(
    node: NodeDevices, claim_of: Claims, is_kind: str
) -> None:
    name = next(name for name, device in node.by_name.items() if type(device).__name__ == is_kind)
    claim = claim_of(UID, "dgx-a100", [name])
    reasons = [reason for _, reason in unprepared_devices(claim, "tangram.dev", [node.pool])]

    if not reasons:
        assert resolve(claim, node, BOOT).devices
        return
    with pytest.raises(ClaimUnusable) as caught:
        resolve(claim, node, BOOT)
    assert [caught.value.reason] == reasons


def test_the_node_publishes_no_type_for_which_there_is_no_configuration(node: NodeDevices) -> None:
    published = {type_of(device, "tangram.dev") for device in node.pool.devices}

    assert published <= CONFIG_OF.keys()


def test_a_device_that_is_named_twice_is_refused(node: NodeDevices, claim_of: Claims) -> None:
    with pytest.raises(ClaimUnusable, match=r"names device .*gpu-0 twice"):
        resolve(claim_of(UID, "dgx-a100", ["gpu-0", "gpu-0"]), node, BOOT)


@pytest.mark.parametrize("sharing", [{"share_id": "share-1"}, {"consumed": {"memory": Quantity.of(1)}}])
def test_a_share_of_a_device_is_refused(node: NodeDevices, claim_of: Claims, sharing: dict[str, Any]) -> None:
    claim = claim_of(UID, "dgx-a100", ["gpu-0"])
    shared = replace(claim, results=(replace(claim.results[0], **sharing),))

    with pytest.raises(
        ClaimUnusable, match=r"gpu-0 of claim default/claim-uid-1.*a share of it, and this version"
    ):
        resolve(shared, node, BOOT)


@pytest.mark.parametrize("device", ["gpu-0", "gpu-0-mig-3g-20gb-4-7"])
def test_admin_access_is_planned_and_locks_nothing(node: NodeDevices, claim_of: Claims, device: str) -> None:
    own = resolve(claim_of(UID, "dgx-a100", [device]), node, BOOT)
    looked_at = resolve(claim_of(UID, "dgx-a100", [device], admin_access=True), node, BOOT)

    assert [one.has_admin_access for one in looked_at.devices] == [True]
    assert looked_at.devices[0].hardware == own.devices[0].hardware
    assert (len(own.lock_targets), len(looked_at.lock_targets)) == (1, 0)
    assert not is_same_allocation(own, looked_at)


def test_a_uid_that_cannot_name_files_is_refused(node: NodeDevices, claim_of: Claims) -> None:
    with pytest.raises(ClaimUnusable, match="UID"):
        resolve(claim_of("../../etc", "dgx-a100", ["gpu-0"]), node, BOOT)


def test_a_plan_holds_everything_that_undoing_needs(node: NodeDevices, claim_of: Claims) -> None:
    name = DeviceName("gpu-0-mig-2g-10gb-2-3")

    plan = resolve(claim_of(UID, "dgx-a100", [name, "gpu-1"]), node, BOOT)

    cut, claimed = node.by_name[name], plan.devices[0]
    assert isinstance(cut, MigPartition)
    assert isinstance(claimed, ClaimedMigPartition)
    assert (plan.state, plan.boot_id, plan.driver) == (State.STARTED, BOOT, "tangram.dev")
    assert claimed.gpu == cut.gpu.uuid
    assert claimed.spec == cut.spec


def test_a_record_is_of_the_allocation_of_its_plan_whatever_instance_it_has(
    node: NodeDevices, claim_of: Claims
) -> None:
    plan = resolve(claim_of(UID, "dgx-a100", ["gpu-0-mig-2g-10gb-2-3"]), node, BOOT)
    (claimed,) = plan.devices
    assert isinstance(claimed, ClaimedMigPartition)

    assert is_same_allocation(plan, plan)
    assert is_same_allocation(plan.with_device(claimed.with_gpu_instance(7)), plan)


def test_a_record_of_another_allocation_does_not_match(node: NodeDevices, claim_of: Claims) -> None:
    plan = resolve(claim_of(UID, "dgx-a100", ["gpu-0-mig-2g-10gb-2-3"]), node, BOOT)
    other = resolve(claim_of(UID, "dgx-a100", ["gpu-0-mig-2g-10gb-4-5"]), node, BOOT)

    assert not is_same_allocation(other, plan)


def test_resolving_has_no_memory(node: NodeDevices, claim_of: Claims) -> None:
    claim = claim_of(UID, "dgx-a100", ["gpu-0"])

    assert resolve(claim, node, BOOT) == resolve(claim, node, BOOT)
