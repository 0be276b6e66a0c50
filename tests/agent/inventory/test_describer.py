"""What claims do to a node describes it no differently; everything else does."""

from __future__ import annotations

from dataclasses import replace

from agent.hardware.types import MigMode, MigSpec, Unreadable
from agent.inventory import describe
from agent.inventory.describer import Describer


def test_a_new_instance_and_the_mode_it_needs_leave_the_description_as_it_is(machine, inventory_of):
    node = machine("a100x2")
    describer = Describer("tangram.dev")
    before = describer.devices(inventory_of(node))
    gpu = inventory_of(node).gpus[0]
    profile = gpu.profiles[0]

    node.gpus.set_mig_mode(gpu.gpu.uuid, True)
    node.gpus.create_gpu_instance(MigSpec(gpu.gpu.uuid, profile.profile_id, profile.placements[0]))

    assert inventory_of(node).gpus[0].instances
    assert describer.devices(inventory_of(node)) is before


def test_what_is_offered_is_what_the_node_is_described_as(machine, inventory_of):
    inventory = inventory_of(machine("a100x2"))

    offered = Describer("tangram.dev").devices(inventory)

    assert offered.pool == describe(inventory, "tangram.dev").pool


def test_a_mode_that_cannot_be_changed_and_a_lost_gpu_are_described_anew(machine, inventory_of):
    describer = Describer("tangram.dev")
    inventory = inventory_of(machine("a100x2"))
    first, second = inventory.gpus
    whole = describer.devices(inventory)

    stuck = replace(first, gpu=replace(first.gpu, mig=MigMode(False, True)))
    pending = describer.devices(replace(inventory, gpus=(stuck, second)))
    lost = describer.devices(replace(inventory, gpus=(second,), unreadable=(Unreadable("GPU 0", "gone"),)))

    assert any(name.startswith("gpu-0-mig") for name in whole.by_name)
    assert not any(name.startswith("gpu-0-mig") for name in pending.by_name)
    assert not any(name.startswith("gpu-0") for name in lost.by_name)
    assert lost.left_out == ("GPU 0: gone",)


def test_what_comes_back_is_described_as_before(machine, inventory_of):
    describer = Describer("tangram.dev")
    inventory = inventory_of(machine("a100x2"))
    before = describer.devices(inventory)

    describer.devices(replace(inventory, gpus=()))

    assert describer.devices(inventory) == before
