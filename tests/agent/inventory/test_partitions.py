"""GPUs joined by NVLink, as devices: counted so that whatever shares a GPU excludes each other."""

from dataclasses import replace
from itertools import combinations

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from agent.inventory.model import LinkedGpus
from agent.inventory.partitions import shipped_boards, shipped_table
from agent.inventory.published import GpuPartition
from agent.slices import composite_slices, encoded, v1_slices
from scheduler_core.base.errors import CannotProject
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.frontends.partitions.table import table_of

SMALL = [f"gpu-0-mig-1g-10gb-{start}" for start in range(7)]
PARTS = ["gpu-0", "gpu-1", "gpu-2", "gpus-0-1", "gpus-2-3", "gpus-0-1-2-3", "gpus-0-1-2-3-4-5-6-7"]


@pytest.fixture(scope="module")
def hopper(tmp_path_factory):
    machine = SimulatedMachine.open(load_node("hgx-h100"), tmp_path_factory.mktemp("hgx-h100"))
    found = discover(simulated_hardware(machine).readers, "node-1")

    def read(table=None, *, is_honored=False):
        return replace(found, linked=LinkedGpus(table or shipped_table("hgx-h100"), is_honored))

    return read


def members(name, pool):
    """The GPUs that a device stands on, told by its name's listing in the description."""
    if name.startswith("gpus-"):
        return set(name.removeprefix("gpus-").split("-"))
    return {name.split("-")[1]}


def joined(devices):
    return [name for name, device in devices.by_name.items() if isinstance(device, GpuPartition)]


def test_a_partition_is_one_device_that_draws_its_gpus_whole(hopper):
    devices = describe(hopper())

    (pair,) = (one for one in devices.pool.devices if one.name == "gpus-0-1")
    assert {draw.source: [str(q) for q in draw.amounts.values()] for draw in pair.draws} == {
        "gpu-0": ["7"],
        "gpu-1": ["7"],
    }
    assert pair.attributes["tangram.dev/gpuCount"] == 2
    assert pair.attributes["tangram.dev/gpuLinkType"] == "NVLink"
    assert [gpu.minor for gpu in devices.by_name["gpus-0-1"].gpus] == [0, 1]


def test_a_single_gpu_of_the_table_has_its_score_and_its_bandwidth_and_its_parts_have_neither(hopper):
    entries = [{"minors": [0], "allocationScore": 3, "ringBusBandwidth": "400Gi"}, {"minors": [1]}]
    devices = describe(hopper(table_of("table", {"1": entries}))).pool.devices
    keys = ("tangram.dev/allocationScore", "tangram.dev/ringBusBandwidth")
    found = {str(one.name): tuple(one.attributes.get(key) for key in keys) for one in devices}

    assert found.pop("gpu-0") == (3, 400 * 2**30)
    assert found.pop("gpu-1") == (0, None)
    assert set(found.values()) == {(None, None)}


@pytest.mark.parametrize("form", ["composite", "v1"])
def test_gpus_their_parts_and_partitions_exclude_each_other_by_counting_alone(hopper, form):
    devices = describe(hopper())
    if form == "composite":
        pool = flatten([decode_slice(one) for one in encoded(composite_slices(devices))])
    else:
        (pool,) = v1.pools(v1.decode_slice(one) for one in v1_slices(devices))
    mig = next(one.name for one in pool.devices if one.name.startswith("gpu-0-mig-1g"))

    for one, other in combinations([*PARTS, mig], 2):
        ledger = Ledger(pool)
        ledger.take(one, "a")
        assert ledger.admits(other) == (not members(one, pool) & members(other, pool)), (one, other)


def test_seven_instances_still_fit_on_a_gpu_with_shares(hopper):
    pool = describe(hopper()).pool
    small = [one.name for one in pool.devices if one.name in SMALL]
    ledger = Ledger(pool)

    for name in small:
        ledger.take(name, "a")

    assert len(small) == 7


def test_v1_has_one_combined_counter_set_after_those_of_gpus_and_nics(hopper):
    slices = v1_slices(describe(hopper()))

    counters = [one["spec"]["sharedCounters"] for one in slices if "sharedCounters" in one["spec"]]
    assert [len(one) for one in counters] == [8, 8, 1]
    assert counters[-1][0]["name"] == "combined"
    drawn = [
        len(device.get("consumesCounters", ())) for one in slices for device in one["spec"].get("devices", ())
    ]
    assert max(drawn) == 2


def test_the_layout_of_1_34_refuses_a_counter_set_that_several_slices_would_need(hopper):
    with pytest.raises(CannotProject, match="counter set combined"):
        v1_slices(describe(hopper()), Layout.TOGETHER)


def test_higher_scores_are_listed_first(hopper):
    rows = [
        {"minors": [0, 1], "allocationScore": 1},
        {"minors": [2, 3], "allocationScore": 3},
        {"minors": [4, 5], "allocationScore": 2},
    ]
    table = table_of("table", {"2": rows})

    assert joined(describe(hopper(table))) == ["gpus-2-3", "gpus-4-5", "gpus-0-1"]


def test_what_the_table_lacks_is_not_offered_where_it_is_honored(hopper):
    table = table_of("table", {"1": [{"minors": [0]}], "2": [{"minors": [2, 3]}]})

    honored = describe(hopper(table, is_honored=True))
    preferred = describe(hopper(table))

    offered = [name for name in honored.by_name if "mig" not in name and name.startswith("gpu-")]
    assert offered == ["gpu-0"]
    assert joined(honored) == ["gpus-2-3"]
    assert joined(preferred) == ["gpus-2-3"]


def test_a_partition_with_a_gpu_that_is_gone_is_withheld_and_told(hopper):
    found = hopper()

    devices = describe(replace(found, gpus=tuple(one for one in found.gpus if one.gpu.minor != 3)))

    assert "gpus-2-3" not in joined(devices)
    assert any(str(one).startswith("gpus-2-3: GPU 3 is missing") for one in devices.withheld)


def test_a_node_without_a_table_has_no_shares(hopper):
    pool = describe(replace(hopper(), linked=None)).pool

    assert not any("gpuShare" in name for device in pool.devices for name in device.capacity)


def test_every_shipped_table_reads_without_a_warning():
    assert shipped_boards() == ("hgx-h100", "hgx-h20", "hgx-h200", "hgx-h800")
    assert [shipped_table(board).warnings for board in shipped_boards()] == [()] * 4
