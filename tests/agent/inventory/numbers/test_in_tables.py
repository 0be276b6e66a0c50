"""Tables of partitions name GPUs by number, by PCI address, or by module of the baseboard."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dead_gpus import rebooted

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.model import NO_FABRIC, LinkedGpus
from agent.inventory.numbers.kept import KeptNumbers
from agent.inventory.numbers.number_file import NumberFile
from scheduler_core.base.errors import CoreError
from scheduler_core.frontends.partitions.table import table_of


def table(*entries, size=2):
    return table_of("table", {str(size): list(entries)}, any_name=True)


@pytest.fixture(scope="module")
def dgx(tmp_path_factory):
    return simulated_hardware(SimulatedMachine.open(load_node("dgx-a100"), tmp_path_factory.mktemp("dgx")))


@pytest.fixture
def addresses(dgx):
    return sorted(gpu.bdf for gpu in dgx.gpus.gpus())


@pytest.fixture
def look(tmp_path):
    def described(machine, linked):
        numbering = KeptNumbers(NumberFile(tmp_path / "numbers", "n"), lambda: ())
        found = discover(machine.readers, "n", numbering)
        return describe(replace(found, linked=LinkedGpus(linked), fabric=NO_FABRIC))

    return described


def groups(found):
    return {
        name: [gpu.bdf for gpu in one.gpus] for name, one in found.by_name.items() if name.startswith("gpus-")
    }


def test_an_address_means_its_gpu(dgx, addresses, look):
    found = look(dgx, table({"addresses": [addresses[5].upper(), addresses[4]]}))

    assert groups(found) == {"gpus-4-5": addresses[4:6]}


def test_a_module_means_its_gpu(machine, look):
    hgx = simulated_hardware(machine("docs/nodes/hgx-h100-shared.yaml"))
    bdfs = {gpu.module_id: gpu.bdf for gpu in hgx.gpus.gpus()}
    assert [bdfs[1], bdfs[2]] != sorted(bdfs.values())[:2]

    found = look(hgx, table({"modules": [1, 2]}))

    assert list(groups(found).values()) == [sorted([bdfs[1], bdfs[2]])]


@pytest.mark.parametrize("by", ["minors", "addresses"])
def test_a_reboot_with_a_dead_gpu_joined_other_gpus_by_a_table_of_minors(by, dgx, addresses, look):
    names = {"minors": [4, 5], "addresses": addresses[4:6]}
    linked = table({by: names[by]})
    before = groups(look(dgx, linked))

    after = look(rebooted(dgx, dead=[addresses[0]]), linked)

    assert groups(after) == before == {"gpus-4-5": addresses[4:6]}
    (device,) = [one for one in after.pool.devices if one.name == "gpus-4-5"]
    assert device.attributes["tangram.dev/gpuMinors"] == "3,4"


def test_a_partition_with_a_dead_gpu_is_withheld_under_its_name(dgx, addresses, look):
    look(dgx, table({"minors": [0, 1]}))

    found = look(rebooted(dgx, dead=[addresses[4]]), table({"addresses": addresses[4:6]}))

    assert [str(one.device) for one in found.withheld] == ["gpus-4-5"]


def test_a_name_that_the_node_does_not_know_is_told_and_leaves_the_rest(dgx, addresses, look):
    linked = table({"addresses": ["0000:ff:00.0", addresses[0]]}, {"modules": [77, 78]}, {"minors": [2, 3]})

    found = look(dgx, linked)

    assert list(groups(found)) == ["gpus-2-3"]
    told = [one for one in found.left_out if "does not know" in one]
    assert [one.rpartition(": ")[2] for one in told] == ["address 0000:ff:00.0", "module 77, module 78"]


def test_two_entries_for_one_group_count_once(dgx, addresses, look):
    found = look(dgx, table({"addresses": addresses[:2]}, {"minors": [0, 1]}))

    assert list(groups(found)) == ["gpus-0-1"]
    assert any("GPUs 0, 1 twice" in one for one in found.left_out)


def test_scores_are_computed_once_the_gpus_are_known(dgx, addresses, look):
    by_address = [{"addresses": [addresses[a], addresses[b]]} for a, b in ((0, 1), (2, 3), (1, 2))]
    by_minor = [{"minors": [a, b]} for a, b in ((0, 1), (2, 3), (1, 2))]

    def scores(entries):
        found = look(dgx, table(*entries))
        return {one.name: one.attributes.get("tangram.dev/allocationScore") for one in found.pool.devices}

    assert scores(by_address) == scores(by_minor)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"addresses": ["0000:07:00.0"]}, "must have 2 members"),
        ({"addresses": ["0000:07:00.0", "nonsense"]}, "must be a PCI address"),
        ({"addresses": ["0000:07:00.0", 7]}, "must be a PCI address"),
        ({"addresses": ["0000:07:00.0", "00000000:07:00.0"]}, "listed twice"),
        ({"modules": [1, -2]}, "whole number"),
        ({"modules": [1, 1]}, "listed twice"),
        ({"modules": [1, 2], "minors": [0, 1]}, "one way too many"),
        ({"modules": [1, 2], "addresses": ["0000:07:00.0", "0000:08:00.0"]}, "one way too many"),
    ],
    ids=str,
)
def test_a_wrong_name_is_refused_with_its_path(entry, why):
    with pytest.raises(CoreError, match=why):
        table(entry)


def test_an_annotation_of_a_node_names_gpus_by_minor_alone():
    with pytest.raises(CoreError, match="--partitions"):
        table_of("Node n", {"2": [{"modules": [1, 2]}]})
