"""Compute instances of several claims in one GPU instance: made for the first, destroyed after the last."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from devices_of_kinds import told

from agent.hardware.types import ComputeInstance, GpuInstance, MigUuid, Placement
from agent.inventory.foreign.rule import is_own_compute
from plugin.assembly import assemble
from plugin.base.errors import ClaimUnusable, DeviceHeld, NotReady, PlacementTaken, UnknownDevice
from plugin.kinds.mig_partition import compute_instances
from plugin.kinds.mig_partition.claimed import ClaimedComputeInstance, ClaimedMigPartition

ONE, TWO, THREE = (f"gpu-0-mig-1c-3g-20gb-4-7-ci-{start}" for start in range(3))
WIDE = "gpu-0-mig-2c-3g-20gb-4-7-ci-0-1"
WHOLE = "gpu-0-mig-3g-20gb-4-7"
OTHER_HALF = "gpu-0-mig-1c-3g-20gb-0-3-ci-0"


def uuids(bench: Any) -> dict[int, str]:
    """The MIG devices of the only GI, by the first compute slice."""
    (instance,) = bench.instances()
    return {compute.place.start: compute.uuid for compute in instance.compute_instances}


def device_of(bench: Any, uid: str) -> ClaimedComputeInstance:
    ((device,),) = (record.devices for record in bench.records() if record.claim_uid == uid)
    return device


def gi_of(bench: Any, device: str) -> int:
    """Create the GI of a device as somebody else, and return its id."""
    bench.simulated.gpus.set_mig_mode(bench.uuid(0), enabled=True)
    bench.prepare("elsewhere", device)
    spec = device_of(bench, "elsewhere").spec
    bench.unprepare("elsewhere")
    bench.simulated.gpus.set_mig_mode(bench.uuid(0), enabled=True)
    gi_id: int = bench.simulated.gpus.create_gpu_instance(spec)
    return gi_id


def test_claims_share_one_gpu_instance_and_each_has_a_mig_device_of_its_own(split_bench: Any) -> None:
    split_bench.prepare("u1", ONE)
    split_bench.prepare("u2", THREE)
    split_bench.prepare("u3", TWO)

    found = uuids(split_bench)

    assert sorted(found) == [0, 1, 2]
    assert len(set(found.values())) == 3
    assert [device_of(split_bench, uid).mig_uuid for uid in ("u1", "u3", "u2")] == [
        found[place] for place in range(3)
    ]


@pytest.mark.parametrize("order", [("u1", "u2"), ("u2", "u1")])
def test_the_gpu_instance_lives_until_its_last_claim_ends(split_bench: Any, order: tuple[str, str]) -> None:
    split_bench.prepare("u1", ONE)
    split_bench.prepare("u2", TWO)
    before = uuids(split_bench)

    split_bench.unprepare(order[0])

    (left,) = uuids(split_bench).values()
    assert left == before[("u1", "u2").index(order[1])]
    split_bench.unprepare(order[1])
    assert split_bench.leftovers() == []


def test_only_the_first_claim_creates_the_gpu_instance_and_only_the_last_destroys_it(
    split_bench: Any,
) -> None:
    calls: list[str] = []
    machine = told(split_bench.machine, calls.append, lambda _: None)
    clock = split_bench.clock
    driver = assemble(machine, split_bench.options, clock=clock, sleep=clock.sleep)
    claims = [split_bench.claim("u1", ONE), split_bench.claim("u2", TWO)]

    for claim in claims:
        driver.prepare(claim)
    for claim in claims:
        driver.unprepare(claim.uid, claim.ref)

    assert calls == [
        *("set_mig_mode", "create_gpu_instance", "create_compute_instance", "create_compute_instance"),
        *("destroy_compute_instance", "destroy_compute_instance", "destroy_gpu_instance", "set_mig_mode"),
    ]


def test_a_claim_may_have_several_of_one_gpu_instance_and_of_two(split_bench: Any) -> None:
    answer = split_bench.prepare("u1", WIDE, OTHER_HALF, THREE)

    sizes = sorted(len(instance.compute_instances) for instance in split_bench.instances())
    assert [device.device for device in answer] == [WIDE, OTHER_HALF, THREE]
    assert sizes == [1, 2]
    split_bench.unprepare("u1")
    assert split_bench.leftovers() == []


def test_a_container_gets_the_nodes_of_its_own_compute_instance(split_bench: Any) -> None:
    split_bench.prepare("u1", ONE)
    split_bench.prepare("u2", TWO)
    first, second = (split_bench.document(uid).read_text() for uid in ("u1", "u2"))
    gi, ci_0, ci_1 = (f'"/dev/nvidia-caps/nvidia-cap{minor}"' for minor in (12, 13, 14))

    assert gi in first
    assert gi in second
    assert (ci_0 in first, ci_1 in first) == (True, False)
    assert (ci_0 in second, ci_1 in second) == (False, True)
    assert str(device_of(split_bench, "u2").mig_uuid) in second


def test_the_status_says_where_in_the_gpu_instance_it_is(split_bench: Any) -> None:
    split_bench.prepare("u1", WIDE)

    status = device_of(split_bench, "u1").status_data

    assert status["placement"] == {"start": 4, "size": 4}
    assert status["computePlacement"] == {"start": 0, "size": 2}


@pytest.mark.parametrize(
    "other",
    [
        *(WHOLE, "gpu-0", WIDE, "gpu-0-mig-7g-40gb-0-7", "gpu-0-mig-1g-5gb-5"),
        *("gpu-0-mig-1c-2g-10gb-4-5-ci-0", "gpu-0-mig-2g-10gb-4-5"),
    ],
)
def test_what_hardware_cannot_have_beside_it_is_refused_in_both_orders(split_bench: Any, other: str) -> None:
    split_bench.prepare("u1", TWO)
    with pytest.raises(DeviceHeld, match="claim default/claim-u1"):
        split_bench.prepare("u2", other)
    split_bench.unprepare("u1")

    split_bench.prepare("u2", other)

    with pytest.raises(DeviceHeld, match="claim default/claim-u2"):
        split_bench.prepare("u1", TWO)
    split_bench.unprepare("u2")
    assert split_bench.leftovers() == []


def test_a_claim_cannot_have_what_overlaps_in_itself(split_bench: Any) -> None:
    with pytest.raises(ClaimUnusable, match="allocate the claim anew"):
        split_bench.prepare("u1", WIDE, TWO)

    assert split_bench.leftovers() == []


def test_a_gpu_instance_that_somebody_else_made_is_not_used(split_bench: Any) -> None:
    gi_id = gi_of(split_bench, ONE)

    with pytest.raises(PlacementTaken, match=f"GI {gi_id} .*no claim of this driver created it"):
        split_bench.prepare("u1", ONE)

    assert [instance.gi_id for instance in split_bench.instances()] == [gi_id]


def test_a_compute_instance_that_somebody_else_made_is_neither_used_nor_destroyed(split_bench: Any) -> None:
    split_bench.prepare("u1", ONE)
    ours = device_of(split_bench, "u1")
    foreign = split_bench.simulated.gpus.create_compute_instance(ours.gpu, ours.gi_id, Placement(2, 1))

    with pytest.raises(PlacementTaken, match=rf"compute slices 2-2 .*{foreign.uuid} is there"):
        split_bench.prepare("u2", THREE)
    split_bench.unprepare("u1")

    assert uuids(split_bench) == {2: foreign.uuid}
    assert split_bench.records() == ()


def test_a_start_tells_of_foreign_compute_instances_and_of_no_claims(
    split_bench: Any, caplog: pytest.LogCaptureFixture
) -> None:
    split_bench.prepare("u1", ONE)
    split_bench.prepare("u2", TWO)
    ours = device_of(split_bench, "u1")
    split_bench.restart()
    assert "no claim created" not in caplog.text
    foreign = split_bench.simulated.gpus.create_compute_instance(ours.gpu, ours.gi_id, Placement(2, 1))

    split_bench.restart()

    told_of = [line for line in caplog.messages if "no claim created" in line]
    assert told_of == [
        f"GI {ours.gi_id} of GPU {ours.gpu}: no claim created CI {foreign.uuid}; it stays",
    ]


def test_a_compute_instance_that_vanished_is_created_again_beside_the_others(split_bench: Any) -> None:
    split_bench.prepare("u1", ONE)
    split_bench.prepare("u2", TWO)
    before, gone = uuids(split_bench), device_of(split_bench, "u1")
    split_bench.simulated.gpus.destroy_compute_instance(gone.gpu, gone.gi_id, gone.ci_id)

    split_bench.prepare("u1", ONE)

    after = uuids(split_bench)
    assert after[1] == before[1]
    assert after[0] != before[0]


def test_a_gpu_instance_that_vanished_with_all_its_claims_is_created_again_once(split_bench: Any) -> None:
    split_bench.prepare("u1", ONE)
    split_bench.prepare("u2", TWO)
    (instance,) = split_bench.instances()
    for compute in instance.compute_instances:
        split_bench.simulated.gpus.destroy_compute_instance(instance.parent, instance.gi_id, compute.ci_id)
    split_bench.simulated.gpus.destroy_gpu_instance(instance.parent, instance.gi_id)

    split_bench.prepare("u1", ONE)
    split_bench.prepare("u2", TWO)

    assert sorted(uuids(split_bench)) == [0, 1]
    split_bench.unprepare("u1")
    split_bench.unprepare("u2")
    assert split_bench.leftovers() == []


def test_a_refused_compute_instance_leaves_the_gpu_instance_to_the_others(split_bench: Any) -> None:
    split_bench.prepare("u1", ONE)
    before = uuids(split_bench)
    split_bench.inject("gpu-0:create-compute-instance:insufficient-resources:1")

    with pytest.raises(PlacementTaken, match="a compute instance at compute slices 1-1 of the GI"):
        split_bench.prepare("u2", TWO)

    assert uuids(split_bench) == before
    assert [record.claim_uid for record in split_bench.records()] == ["u1"]


def test_a_refused_first_compute_instance_leaves_no_gpu_instance(split_bench: Any) -> None:
    split_bench.inject("gpu-0:create-compute-instance:hardware-fault:1")

    with pytest.raises(Exception, match="fault"):
        split_bench.prepare("u1", ONE)

    assert split_bench.leftovers() == []


def test_when_the_option_goes_what_claims_have_stays_theirs_and_ends_with_them(split_bench: Any) -> None:
    split_bench.prepare("u1", ONE)
    split_bench.prepare("u2", TWO)
    split_bench.options = replace(split_bench.options, split=None)
    split_bench.restart()

    with pytest.raises(DeviceHeld, match="claim default/claim-u1"):
        split_bench.prepare("u3", WHOLE)
    with pytest.raises(UnknownDevice):
        split_bench.prepare("u4", THREE)
    split_bench.unprepare("u1")
    with pytest.raises(DeviceHeld, match="claim default/claim-u2"):
        split_bench.prepare("u3", WHOLE)
    split_bench.unprepare("u2")
    split_bench.prepare("u3", WHOLE)

    split_bench.unprepare("u3")
    assert split_bench.leftovers() == []


def test_a_monitor_sees_it_once_a_claim_has_it_and_changes_nothing(split_bench: Any) -> None:
    with pytest.raises(NotReady, match="it is retried until a claim has the device"):
        split_bench.look_at("m", TWO)
    split_bench.prepare("u1", TWO)
    before = split_bench.instances()

    split_bench.look_at("m", TWO)

    assert device_of(split_bench, "m").mig_uuid == device_of(split_bench, "u1").mig_uuid
    with pytest.raises(NotReady):
        split_bench.look_at("m2", WHOLE)
    split_bench.unprepare("m")
    assert split_bench.instances() == before


def test_a_monitor_does_not_keep_the_gpu_instance(split_bench: Any) -> None:
    split_bench.prepare("u1", TWO)
    split_bench.look_at("m", TWO)

    split_bench.unprepare("u1")

    assert split_bench.instances() == ()


def test_a_lost_gpu_took_its_instances_with_it(split_bench: Any) -> None:
    split_bench.prepare("u1", ONE)
    split_bench.simulated.reboot()
    split_bench.restart()

    split_bench.unprepare("u1")

    assert split_bench.leftovers() == []


def claimed(place: int, gi_id: int | None = 1, uuid: str | None = None) -> ClaimedComputeInstance:
    return ClaimedComputeInstance(
        requests=("r",),
        pool="n",
        device=f"d{place}",
        cdi_id="x",
        parent_uuid="GPU-1",
        profile_id=9,
        start=4,
        size=4,
        compute_start=place,
        compute_size=1,
        gi_id=gi_id,
        ci_id=None if uuid is None else 0,
        mig_uuid=uuid,
    )


def test_a_ci_without_a_recorded_uuid_is_that_of_its_place_in_the_recorded_gi() -> None:
    compute = ComputeInstance(0, MigUuid("MIG-1"), Placement(1, 1))
    instance = GpuInstance(claimed(0).gpu, 1, 9, Placement(4, 4), (compute,))

    assert is_own_compute(compute, instance, claimed(1))
    assert not is_own_compute(compute, instance, claimed(0))
    assert not is_own_compute(compute, instance, claimed(1, gi_id=None))
    assert not is_own_compute(compute, instance, claimed(1, gi_id=2))
    assert not is_own_compute(compute, instance, claimed(1, uuid="MIG-2"))


def test_siblings_are_the_other_compute_instances_of_the_same_gpu_instance() -> None:
    other_gi = ClaimedComputeInstance(**{**fields_of(claimed(1)), "start": 0})
    whole = ClaimedMigPartition(
        requests=("r",), pool="n", device="w", cdi_id="x", parent_uuid="GPU-1", profile_id=9, start=4, size=4
    )
    looked_at = ClaimedComputeInstance(**{**fields_of(claimed(2)), "admin_access": True})

    found = compute_instances.siblings_of(claimed(0), [claimed(0), claimed(1), other_gi, whole, looked_at])

    assert found == [claimed(1)]


def fields_of(device: ClaimedComputeInstance) -> dict[str, Any]:
    return {name: getattr(device, name) for name in device.__struct_fields__}
