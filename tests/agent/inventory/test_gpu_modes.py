"""GPUs in several modes, as devices: what may be in use side by side, in both dialects."""

import itertools
from copy import copy
from dataclasses import replace

import pytest

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.inventory import describe, discover
from agent.inventory.model import LinkedGpus
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.options.mode_option import read_gpu_modes
from agent.inventory.partitions import shipped_table
from agent.inventory.published import GpuPartition, MigPartition, MpsGpu, SharedGpu, WholeGpu
from agent.publishing.fixed import fixed_pool, without
from agent.slices import composite_slices, encoded, v1_slices
from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project
from scheduler_core.model.consumption import consumed
from scheduler_core.model.nodes import NOWHERE
from tangram.node_sizes import sizes_of

SHARED, MPS = "gpu-0-shared", "gpu-0-mps"
DEFAULT = GpuModes()
SHARED_TOO = GpuModes(ModesOfGpu(shared=100))
ALL_MODES = GpuModes(ModesOfGpu(shared=50, mps=50))
TURNS = GpuModes(ModesOfGpu(shared=100, mps=100))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    def read(node="dgx-a100", modes=DEFAULT, linked=None):
        machine = SimulatedMachine.open(load_node(node), tmp_path_factory.mktemp(node))
        return replace(discover(simulated_hardware(machine).readers, "node-1"), modes=modes, linked=linked)

    return read


@pytest.fixture(scope="module")
def devices(found):
    return describe(found(modes=SHARED_TOO))


def read(slices):
    (pool,) = v1.pools(v1.decode_slice(one) for one in slices)
    return pool


def pools_as_published(devices, layouts=(Layout.SEPARATE, Layout.TOGETHER)):
    """The pool as readers of each dialect see it."""
    composite = flatten([decode_slice(one) for one in encoded(composite_slices(devices))])
    return [composite, *(read(v1_slices(devices, layout)) for layout in layouts)]


def admitted(pool, taken, name, meaning="kep-4815"):
    """Whether a device can be taken beside another, shares of either with 1 GiB."""

    def share(one):
        memory = {"tangram.dev/memory": Quantity.parse("1Gi")}
        return memory if one.endswith(("-shared", "-mps")) else None

    books = Ledger(pool, Features(groups=meaning))
    books.take(taken, "first", share(taken))
    return copy(books).admits(name, share(name))


def test_without_the_option_no_gpu_is_offered_in_shares(found):
    devices = describe(found())

    assert not any(isinstance(one, SharedGpu) for one in devices.by_name.values())
    assert not any(one.is_shareable for one in devices.pool.devices)


@pytest.mark.parametrize("name", [name for name in shipped_nodes() if name not in ("no-gpu", "dgx-spark")])
def test_every_gpu_that_can_be_used_whole_is_offered_in_shares_after_its_partitions(found, name):
    devices = describe(found(name, SHARED_TOO))

    whole = [one.gpu.uuid for one in devices.by_name.values() if isinstance(one, WholeGpu)]
    shared = [one.gpu.uuid for one in devices.by_name.values() if isinstance(one, SharedGpu)]
    assert shared == whole
    assert devices.pool.rejected == {}
    assert [one for one in devices.by_name if one.startswith("gpu-0")][-1] == SHARED


def test_a_gpu_without_a_memory_figure_is_offered_whole_and_in_no_shares(found):
    devices = describe(found("dgx-spark", SHARED_TOO))

    assert [name for name in devices.by_name if name.startswith("gpu-")] == ["gpu-0"]


def test_what_is_published_is_read_back_in_both_dialects_with_amounts_and_policies(devices):
    (described,) = (one for one in devices.pool.devices if one.name == SHARED)
    for pool in pools_as_published(devices):
        (read,) = (one for one in pool.devices if one.name == SHARED)
        assert read.is_shareable
        assert (read.capacity, read.policies) == (described.capacity, described.policies)
        assert read.attributes["tangram.dev/type"] == "gpu-shared"
        assert {name for name in read.capacity} == {"tangram.dev/memory", "tangram.dev/multiprocessors"}


@pytest.mark.parametrize(
    "other", ["gpu-0", "gpu-0-mig-1g-5gb-6", "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-me-0"]
)
def test_shares_and_the_rest_of_their_gpu_exclude_each_other_by_counting_alone(devices, other):
    assert other in devices.by_name
    for pool in pools_as_published(devices):
        assert not admitted(pool, SHARED, other)
        assert not admitted(pool, other, SHARED)
        assert admitted(pool, SHARED, SHARED)
        assert admitted(pool, SHARED, other.replace("gpu-0", "gpu-1"))


def test_shares_and_partitions_with_their_gpu_exclude_each_other(found):
    linked = LinkedGpus(shipped_table("hgx-h100"))
    devices = describe(found("hgx-h100", SHARED_TOO, linked))

    for pool in pools_as_published(devices, [Layout.SEPARATE]):
        assert not admitted(pool, SHARED, "gpus-0-1")
        assert not admitted(pool, "gpus-0-1-2-3", SHARED)
        assert admitted(pool, "gpus-2-3", SHARED)
        assert admitted(pool, SHARED, SHARED)
        (device,) = (one for one in pool.devices if one.name == SHARED)
        unasked = {name: consumed(None, has, device.policies[name]) for name, has in device.capacity.items()}
        assert unasked.pop("tangram.dev/memory") == device.capacity["tangram.dev/memory"]
        assert set(unasked.values()) == {Quantity.of(0)}


def test_an_honored_table_offers_no_gpu_in_shares_that_it_does_not_offer_alone(found):
    table = shipped_table("hgx-h100")
    pairs = replace(table, by_size={2: table.by_size[2]})
    devices = describe(found("hgx-h100", SHARED_TOO, LinkedGpus(pairs, is_honored=True)))

    assert not any(isinstance(one, SharedGpu) for one in devices.by_name.values())


@pytest.mark.parametrize(
    ("wanted", "given"),
    [(None, "40Gi"), ("1", "1Mi"), ("10Gi", "10Gi"), ("10485761", "11Mi"), ("41Gi", None)],
)
def test_a_share_of_memory_is_whole_mib_and_everything_unless_the_claim_says(devices, wanted, given):
    (device,) = (one for one in devices.pool.devices if one.name == SHARED)
    name = "tangram.dev/memory"
    asked = None if wanted is None else Quantity.parse(wanted)

    got = consumed(asked, device.capacity[name], device.policies[name])

    assert got == (None if given is None else Quantity.parse(given))


def test_multiprocessors_are_consumed_only_where_the_claim_names_them(devices):
    (device,) = (one for one in devices.pool.devices if one.name == SHARED)
    name = "tangram.dev/multiprocessors"

    assert consumed(None, device.capacity[name], device.policies[name]) == Quantity.of(0)
    assert consumed(Quantity.of(14), device.capacity[name], device.policies[name]) == Quantity.of(14)


def test_the_slices_of_a_dgx_hardly_grow_and_are_no_more(found, devices):
    before, after = list(sizes_of(describe(found()))), list(sizes_of(devices))

    for old, new in zip(before, after, strict=True):
        assert new.slices == old.slices
        assert old.total_bytes < new.total_bytes <= 1.06 * old.total_bytes


def test_where_servers_do_not_count_the_whole_gpu_is_offered_and_no_shares(devices):
    names = [str(one.name) for one in fixed_pool(devices, ()).devices]

    assert "gpu-0" in names
    assert SHARED not in names


def test_where_servers_drop_what_makes_a_device_shareable_everything_else_is_offered(devices):
    pool = project(devices.pool)

    kept = without(pool, frozenset({"allowMultipleAllocations"}))

    assert {one.name for one in pool.devices} - {one.name for one in kept.devices} == {
        f"gpu-{minor}-shared" for minor in range(8)
    }


@pytest.fixture(scope="module")
def in_all_modes(found):
    return describe(found(modes=ALL_MODES))


@pytest.fixture(scope="module")
def published(in_all_modes):
    return pools_as_published(in_all_modes)


def test_each_mode_of_a_gpu_says_its_name_and_only_where_there_are_several(in_all_modes, found):
    def told(devices):
        key = "tangram.dev/partitioningMode"
        return {one.attributes[key] for one in devices.pool.devices if key in one.attributes}

    by_type = {type(one): name for name, one in in_all_modes.by_name.items() if name.startswith("gpu-0")}
    flat = {
        one.name: one.attributes["tangram.dev/partitioningMode"]
        for one in in_all_modes.pool.devices
        if one.name in by_type.values()
    }
    assert {kind: flat[name] for kind, name in by_type.items()} == {
        WholeGpu: "None",
        MigPartition: "MIGSlicing",
        SharedGpu: "GPUFractioning",
        MpsGpu: "MPSSharing",
    }
    assert told(describe(found())) == set()
    assert told(describe(found(modes=GpuModes(ModesOfGpu(False, False, shared=100))))) == set()


def modes_of(device):
    """The row of the proposal's table that a device is in, None for what is no GPU."""
    for suffix in ("-shared", "-mps"):
        if device.endswith(suffix):
            return suffix[1:]
    return "mig" if "-mig-" in device else "whole"


MEETINGS = {
    frozenset({"whole"}): False,
    frozenset({"whole", "mig"}): False,
    frozenset({"whole", "shared"}): False,
    frozenset({"whole", "mps"}): False,
    frozenset({"mig", "shared"}): False,
    frozenset({"mig", "mps"}): False,
    frozenset({"shared", "mps"}): True,
    frozenset({"shared"}): True,
    frozenset({"mps"}): True,
}
EXAMPLES = ["gpu-0", "gpu-0-mig-1g-5gb-6", "gpu-0-mig-1g-5gb-me-0", SHARED, MPS]


@pytest.mark.parametrize("meaning", ["kep-4815", "kep-5963"])
@pytest.mark.parametrize(("one", "other"), [*itertools.product(EXAMPLES, EXAMPLES)])
def test_modes_meet_on_one_gpu_as_the_proposal_says_and_never_matter_to_another(
    published, meaning, one, other
):
    rows = frozenset({modes_of(one), modes_of(other)})
    for pool in published:
        if rows in MEETINGS:
            assert admitted(pool, one, other, meaning) == MEETINGS[rows]
        assert admitted(pool, one, other.replace("gpu-0", "gpu-1"), meaning)


def test_partitions_go_with_partitions_and_all_shares_of_both_modes_with_each_other(published):
    for pool in published:
        assert admitted(pool, "gpu-0-mig-1g-5gb-5", "gpu-0-mig-1g-5gb-6", "kep-5963")
        books = Ledger(pool, Features(groups="kep-5963"))
        for number, name in enumerate([SHARED, MPS, MPS, SHARED]):
            books.take(name, f"claim {number}", {"tangram.dev/memory": Quantity.parse("10Gi")})
        assert not books.admits(SHARED, {"tangram.dev/memory": Quantity.parse("1Gi")})
        assert not books.admits("gpu-0-mig-1g-5gb-6")


def test_modes_side_by_side_have_their_parts_of_memory_and_multiprocessors(found):
    devices = describe(found(modes=GpuModes(ModesOfGpu(shared=33, mps=67))))

    flat = {one.name: one for one in devices.pool.devices}
    got = {name: {str(amount) for amount in flat[name].capacity.values()} for name in (SHARED, MPS)}
    assert got == {SHARED: {"13516Mi", "35"}, MPS: {"27443Mi", "72"}}


def test_modes_without_parts_take_turns_by_counting_alone(found):
    devices = describe(found(modes=TURNS))

    assert not any(one.only_with for one in devices.pool.devices)
    for pool in pools_as_published(devices):
        assert not any(draw.groups for one in pool.devices for draw in one.draws)
        assert not admitted(pool, SHARED, MPS)
        assert not admitted(pool, MPS, "gpu-0-mig-1g-5gb-6")
        assert admitted(pool, MPS, MPS)


def test_where_no_partition_is_offered_two_modes_need_no_groups(found):
    devices = describe(found("l40s", GpuModes(ModesOfGpu(shared=50, mps=50))))

    for pool in pools_as_published(devices, [Layout.SEPARATE]):
        assert not any(draw.groups for one in pool.devices for draw in one.draws)
        assert admitted(pool, SHARED, MPS)
        assert not admitted(pool, "gpu-0", MPS)
        assert not admitted(pool, MPS, "gpu-0")


def test_a_gpu_without_partitions_is_offered_side_by_side_beside_its_links(found):
    linked = LinkedGpus(shipped_table("hgx-h100"))
    modes = GpuModes(ModesOfGpu(mig=False, shared=50, mps=50))
    devices = describe(found("hgx-h100", modes, linked))

    for pool in pools_as_published(devices, [Layout.SEPARATE]):
        assert admitted(pool, SHARED, MPS, "kep-5963")
        assert not admitted(pool, MPS, "gpus-0-1", "kep-5963")
        assert not admitted(pool, "gpus-0-1", SHARED, "kep-5963")


def test_links_exclude_every_mode_of_their_gpus_also_where_groups_are(found):
    devices = describe(found("hgx-h100", ALL_MODES, LinkedGpus(shipped_table("hgx-h100"))))
    partition = next(n for n, one in devices.by_name.items() if isinstance(one, MigPartition))

    for pool in pools_as_published(devices, [Layout.SEPARATE]):
        for other in ("gpu-0", partition, SHARED, MPS):
            assert not admitted(pool, "gpus-0-1", other, "kep-5963")
            assert not admitted(pool, other, "gpus-0-1", "kep-5963")
        assert admitted(pool, SHARED, MPS, "kep-5963")


@pytest.mark.parametrize(
    ("modes", "kinds"),
    [
        (ModesOfGpu(mig=False), {WholeGpu}),
        (ModesOfGpu(whole=False), {MigPartition}),
        (ModesOfGpu(whole=False, mig=False, mps=100), {MpsGpu}),
        (ModesOfGpu(whole=False, shared=100), {MigPartition, SharedGpu}),
    ],
)
def test_a_gpu_is_offered_in_its_modes_and_no_other(found, modes, kinds):
    devices = describe(found(modes=GpuModes(by_number={0: modes})))

    own = {type(one) for name, one in devices.by_name.items() if name.startswith("gpu-0")}
    others = {type(one) for name, one in devices.by_name.items() if name.startswith("gpu-1")}
    assert own == kinds
    assert others == {WholeGpu, MigPartition}
    assert devices.pool.rejected == {}
    for pool in pools_as_published(devices):
        usable = {one.name for one in pool.devices if one.nodes != NOWHERE}
        assert usable == set(devices.by_name)


def test_a_gpu_that_is_not_offered_whole_is_in_no_nvlink_partition(found):
    modes = GpuModes(by_number={0: ModesOfGpu(whole=False)})
    devices = describe(found("hgx-h100", modes, LinkedGpus(shipped_table("hgx-h100"))))

    linked = [one for one in devices.by_name.values() if isinstance(one, GpuPartition)]
    assert linked
    assert not any(gpu.minor == 0 for one in linked for gpu in one.gpus)
    (found_withheld,) = (one for one in devices.withheld if one.device == "gpus-0-1")
    assert "GPU 0 is missing, or cannot be allocated whole" in found_withheld.reason.text


def test_gpus_that_are_missing_or_have_none_of_their_modes_are_told(found):
    modes = read_gpu_modes(["0-1=mig", "9=whole"])
    devices = describe(found("l40s", modes))

    assert "gpu-0: it can be used in none of the modes that it is offered in" in devices.left_out
    assert "gpu-9: GPU 9 is missing" in devices.left_out


def test_all_modes_of_a_dgx_stay_within_one_and_a_half_times_the_bytes(found, in_all_modes):
    before, after = list(sizes_of(describe(found()))), list(sizes_of(in_all_modes))

    for old, new in zip(before, after, strict=True):
        assert new.obstacle is None
        assert old.total_bytes < new.total_bytes <= 1.5 * old.total_bytes
    gpus = [
        {
            one["name"].split("-")[1]
            for one in slice_["spec"].get("devices", ())
            if one["name"].startswith("gpu")
        }
        for slice_ in v1_slices(in_all_modes)
    ]
    assert sorted(len(one) for one in gpus if one) == [2, 2, 2, 2]
