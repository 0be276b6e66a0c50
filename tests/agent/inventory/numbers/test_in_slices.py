"""The slices that a node published say which number each of its GPUs has."""

from __future__ import annotations

import pytest

from agent.hardware.simulated import shipped_nodes
from agent.inventory import describe
from agent.inventory.numbers.in_slices import witnesses_in
from agent.inventory.numbers.numbering import GpusSeen, first_numbers
from agent.slices import v1_slices
from scheduler_core.dialects.layout import Layout

DRIVER = "tangram.dev"


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("name", shipped_nodes())
def test_a_lost_file_is_made_anew_from_the_slices(name, layout, machine, inventory_of):
    inventory = inventory_of(machine(name))
    by_uuid = {entry.gpu.uuid: entry.gpu.bdf for entry in inventory.gpus}
    seen = GpusSeen(frozenset(by_uuid.values()), by_uuid)

    found = first_numbers(witnesses_in(v1_slices(describe(inventory, DRIVER), layout), DRIVER), seen)

    assert found == {entry.gpu.bdf: entry.gpu.number for entry in inventory.gpus}


def published(name, generation=1, **attributes):
    spec = {"pool": {"name": "n", "generation": generation}}
    values = {key: {"string": value} for key, value in attributes.items()}
    return {"spec": {**spec, "devices": [{"name": name, "attributes": values}]}}


def test_the_newest_slices_count_first():
    found = list(
        witnesses_in([published("gpu-1", uuid="GPU-a"), published("gpu-2", 7, uuid="GPU-a")], DRIVER)
    )

    assert [one.number for one in found] == [2, 1]


@pytest.mark.parametrize(
    "slice_",
    [
        published("nic-0000-3b-00-0", uuid="x"),
        published("gpus-0-1", uuid="x"),
        published("gpu-0"),
        published("gpu-0", **{"resource.kubernetes.io/pciBusID": "nonsense"}),
        {"spec": {"pool": {}}},
    ],
    ids=str,
)
def test_what_says_nothing_of_one_gpu_is_passed_over(slice_):
    assert list(witnesses_in([slice_], DRIVER)) == []
