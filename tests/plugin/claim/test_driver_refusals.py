"""What another claim or somebody else holds is refused by its holder's name, and nothing changes."""

from __future__ import annotations

from typing import Any

import pytest

from plugin.base.errors import DeviceHeld, PlacementTaken
from plugin.kinds.mig_partition.claimed import ClaimedMigPartition

SMALL = "gpu-0-mig-1g-5gb-2"
HALF = "gpu-0-mig-3g-20gb-4-7"


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        (HALF, HALF),
        (HALF, "gpu-0"),
        ("gpu-0", HALF),
        ("gpu-0-mig-4g-20gb-0-3", SMALL),
        (SMALL, "gpu-0-mig-7g-40gb-0-7"),
    ],
)
def test_an_overlap_is_refused_naming_the_holder_and_changes_nothing(
    bench: Any, held: str, wanted: str
) -> None:
    bench.prepare("u1", held)
    before = (bench.instances(), bench.records())

    with pytest.raises(DeviceHeld, match=r"default/claim-u1 \(completed\)") as refusal:
        bench.prepare("u2", wanted)

    assert refusal.value.claim_uid == "u2"
    assert refusal.value.retry
    assert (bench.instances(), bench.records()) == before
    assert not bench.document("u2").exists()


def test_a_started_claim_holds_its_devices_too(bench: Any) -> None:
    bench.inject("gpu-0:create-compute-instance:in-use", "gpu-0:destroy-gpu-instance:in-use")
    with pytest.raises(Exception, match="in-use"):
        bench.prepare("u1", HALF)

    with pytest.raises(DeviceHeld, match=r"default/claim-u1 \(undoing\)"):
        bench.prepare("u2", HALF)


def test_somebody_elses_instance_in_the_place_is_refused_by_name_and_left_alone(bench: Any) -> None:
    gpus = bench.simulated.gpus
    gpus.set_mig_mode(bench.uuid(0), enabled=True)
    wanted = ClaimedMigPartition(
        requests=(), pool="", device="", cdi_id="", parent_uuid=bench.uuid(0), profile_id=9, start=4, size=4
    )
    gi_id = gpus.create_gpu_instance(wanted.spec)

    with pytest.raises(PlacementTaken, match=rf"GI {gi_id} \(memory slices 4-7, without a CI\)"):
        bench.prepare("u1", HALF)
    with pytest.raises(PlacementTaken, match=rf"GPU 0 .* whole: it is cut into GI {gi_id}"):
        bench.prepare("u2", "gpu-0")

    assert [instance.gi_id for instance in bench.instances()] == [gi_id]
    assert bench.records() == ()
