"""What hardware refuses beyond the contract: engines, ids, and the words it uses."""

from __future__ import annotations

import re

import pytest

from agent.hardware.errors import InsufficientResources, InvalidArgument, NotFound, NotSupported
from agent.hardware.simulated import SimulatedMachine, load_node, node_text
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.rules import instance_id
from agent.hardware.types import MigSpec, Placement


def test_an_a30_has_one_jpeg_engine_for_both_media_profiles(cut) -> None:
    cutter = cut("a30x4")
    cutter.create("1g.6gb+me", 0)

    with pytest.raises(InsufficientResources) as refusal:
        cutter.create("2g.12gb+me", 2)

    assert refusal.value.reason == "2g.12gb+me needs 1 jpeg engines, 0 of 1 are left"
    cutter.create("2g.12gb", 2)


def test_an_rtx_pro_6000_can_give_all_its_media_engines_to_one_instance(cut) -> None:
    text = node_text("l40s").replace("l40s-48gb", "rtx-pro-6000-blackwell-96gb")
    cutter = cut("workstation", text=text)
    cutter.create("1g.24gb+me.all", 0)

    with pytest.raises(InsufficientResources) as refusal:
        cutter.create("1g.24gb", 3)

    assert "decoders" in refusal.value.reason
    cutter.create("1g.24gb-me", 3)


@pytest.mark.parametrize(("model", "profile"), [("gb200-186gb", "1g.23gb+me"), ("gh200-144gb", "1g.18gb+me")])
def test_a_profile_exists_as_often_as_its_limit_where_no_engines_are_known(cut, model, profile) -> None:
    bare = re.sub(
        r"memory:.*?\n\n", f"memory: {{{model}: {{total_mib: 180000}}}}\n\n", node_text("a100x2"), flags=re.S
    )
    cutter = cut("a100x2", text=bare.replace("a100-sxm4-40gb", model))
    cutter.create(profile, 0)

    with pytest.raises(InsufficientResources) as refusal:
        cutter.create(profile, 1)

    assert refusal.value.reason == f"at most 1 of {profile} can exist"
    cutter.create(profile.removesuffix("+me"), 1)


def test_a_taken_place_is_told_with_its_holders(cut) -> None:
    cutter = cut()
    cutter.create("1g.5gb", 0)
    cutter.create("1g.5gb", 1)

    with pytest.raises(InsufficientResources) as refusal:
        cutter.create("2g.10gb", 0)

    assert refusal.value.reason == (
        "the memory slices are held by GI 7 (1g.5gb at 0:1), GI 8 (1g.5gb at 1:1)"
    )
    assert refusal.value.attempted == "create GPU instance of profile 14 at 0:2"


def test_an_unknown_profile_is_told_the_known_ones(cut) -> None:
    cutter = cut()

    with pytest.raises(InvalidArgument) as refusal:
        cutter.gpus.create_gpu_instance(MigSpec(cutter.uuid, 1, Placement(0, 1)))

    assert "19 (1g.5gb)" in refusal.value.reason


def test_a_wrong_placement_is_told_the_right_ones(cut) -> None:
    cutter = cut()

    with pytest.raises(InvalidArgument) as refusal:
        cutter.gpus.create_gpu_instance(MigSpec(cutter.uuid, 14, Placement(6, 2)))

    assert refusal.value.reason == "2g.10gb may lie at 0:2, 2:2, 4:2"


@pytest.mark.parametrize("call", ["create_compute_instance", "destroy_gpu_instance"])
def test_with_mig_off_no_instance_can_be_named(machine, call: str) -> None:
    host = machine("a100x2")

    with pytest.raises(NotSupported):
        getattr(host.gpus, call)(host.node.cards[0].uuid, 0)


def test_a_gpu_that_the_machine_lacks_cannot_be_cut(cut) -> None:
    cutter = cut()
    stranger = "GPU-00000000-0000-0000-0000-000000000000"

    with pytest.raises(NotFound) as refusal:
        cutter.gpus.create_gpu_instance(MigSpec(stranger, 19, Placement(0, 1)))

    assert stranger in str(refusal.value)


def test_cutting_one_gpu_leaves_the_others_whole(cut) -> None:
    cutter = cut(index=1)
    cutter.partition("7g.40gb", 0)

    first = cutter.gpus.gpus()[0]

    assert first.mig is not None
    assert not first.mig.current
    assert cutter.gpus.gpu_instances(first.uuid) == ()


@pytest.mark.parametrize(
    ("slices", "placement", "gi_id"),
    [
        (8, Placement(0, 8), 0),
        (8, Placement(4, 4), 1),
        (8, Placement(0, 4), 2),
        (8, Placement(2, 2), 4),
        (8, Placement(0, 1), 7),
        (8, Placement(6, 1), 13),
        (4, Placement(0, 4), 0),
        (4, Placement(3, 1), 6),
        (12, Placement(0, 12), 0),
        (12, Placement(9, 3), 6),
    ],
)
def test_ids_follow_the_place_in_a_binary_split(slices: int, placement: Placement, gi_id: int) -> None:
    assert instance_id(slices, placement) == gi_id


def test_an_id_is_used_again_and_a_uuid_never(cut) -> None:
    cutter = cut()
    first_id, first_uuid = cutter.partition("1g.5gb", 3)
    cutter.destroy(first_id)

    second_id, second_uuid = cutter.partition("1g.5gb", 3)

    assert second_id == first_id
    assert second_uuid != first_uuid


def test_uuids_are_the_same_in_every_run(machine, cut, tmp_path) -> None:
    _, uuid = cut("a100x2").partition("1g.5gb", 0)
    again = SimulatedMachine.open(load_node("a100x2"), tmp_path / "again")
    card: Card = again.node.cards[0]
    again.gpus.set_mig_mode(card.uuid, True)
    gi_id = again.gpus.create_gpu_instance(MigSpec(card.uuid, 19, Placement(0, 1)))

    assert again.gpus.create_compute_instance(card.uuid, gi_id).uuid == uuid
