"""GPUs in shares, as devices: counted so that nothing else of a GPU is in use beside its shares."""

from copy import copy
from dataclasses import replace

import pytest

from agent.__main__ import main as agent
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.inventory import describe, discover
from agent.inventory.model import LinkedGpus, SharedGpu, SharedGpus, WholeGpu
from agent.inventory.partitions import shipped_table
from agent.inventory.shared_option import read_shared_gpus
from agent.publishing.fixed import fixed_pool, without
from agent.slices import composite_slices, encoded, v1_slices
from daemon.command_line import InvalidOption
from plugin.__main__ import main as plugin
from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project
from scheduler_core.model.policy import consumed
from tangram.sizes import sizes_of

SHARED = "gpu-0-shared"
WRONG = ["", "0,", "a", "-1", "5-2", "0,256", "ALL", "1-2-3", " 1", "١"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    def read(node="dgx-a100", shared=None, linked=None):
        machine = SimulatedMachine.open(load_node(node), tmp_path_factory.mktemp(node))
        return replace(discover(simulated_hardware(machine).readers, "node-1"), shared=shared, linked=linked)

    return read


@pytest.fixture(scope="module")
def devices(found):
    return describe(found(shared=SharedGpus()))


def read(slices):
    (pool,) = v1.pools(v1.decode_slice(one) for one in slices)
    return pool


def pools_as_published(devices, layouts=(Layout.SEPARATE, Layout.TOGETHER)):
    """The pool as readers of each dialect see it."""
    composite = flatten([decode_slice(one) for one in encoded(composite_slices(devices))])
    return [composite, *(read(v1_slices(devices, layout)) for layout in layouts)]


def admitted(pool, taken, name):
    """Whether a device can be taken beside another, shares of either with 1 GiB."""

    def share(one):
        memory = {"tangram.dev/memory": Quantity.parse("1Gi")}
        return memory if one.endswith("-shared") else None

    books = Ledger(pool)
    books.take(taken, "first", share(taken))
    return copy(books).admits(name, share(name))


def test_without_the_option_no_gpu_is_offered_in_shares(found):
    devices = describe(found())

    assert not any(isinstance(one, SharedGpu) for one in devices.by_name.values())
    assert not any(one.is_shareable for one in devices.pool.devices)


@pytest.mark.parametrize("name", [name for name in shipped_nodes() if name != "no-gpu"])
def test_every_gpu_that_can_be_used_whole_is_offered_in_shares_after_its_partitions(found, name):
    devices = describe(found(name, SharedGpus()))

    whole = [one.gpu.uuid for one in devices.by_name.values() if isinstance(one, WholeGpu)]
    shared = [one.gpu.uuid for one in devices.by_name.values() if isinstance(one, SharedGpu)]
    assert shared == whole
    assert devices.pool.rejected == {}
    assert [one for one in devices.by_name if one.startswith("gpu-0")][-1] == SHARED


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
    devices = describe(found("hgx-h100", SharedGpus(), linked))

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
    devices = describe(found("hgx-h100", SharedGpus(), LinkedGpus(pairs, is_honored=True)))

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
        assert old.total_bytes < new.total_bytes <= 1.05 * old.total_bytes


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


def test_only_the_gpus_that_the_option_names_are_offered_and_missing_ones_are_told(found):
    devices = describe(found(shared=read_shared_gpus("1,3-4,9")))

    shared = [name for name, one in devices.by_name.items() if isinstance(one, SharedGpu)]
    assert shared == ["gpu-1-shared", "gpu-3-shared", "gpu-4-shared"]
    assert "gpu-9-shared: GPU 9 is missing" in devices.left_out


@pytest.mark.parametrize(
    ("text", "minors"), [("all", None), ("0", {0}), ("0,2-5", {0, 2, 3, 4, 5}), ("255", {255})]
)
def test_the_option_names_all_gpus_or_some(text, minors):
    assert read_shared_gpus(text) == SharedGpus(None if minors is None else frozenset(minors))
    assert read_shared_gpus(None) is None


@pytest.mark.parametrize("text", WRONG)
def test_any_other_text_is_refused_with_the_rule(text):
    with pytest.raises(InvalidOption, match=r"--shared-gpus.*must be all, or minors of GPUs from 0 to 255"):
        read_shared_gpus(text)


@pytest.mark.parametrize("program", [agent, plugin])
def test_agent_and_plugin_refuse_it_in_the_same_way(program, capsys, tmp_path):
    arguments = ["--simulated", "a100x2", "--machine", str(tmp_path / "m"), "--node-name", "n"]
    more = ["--claims", str(tmp_path)] if program is plugin else []

    assert program([*arguments, *more, "--shared-gpus", "x"]) == 2

    assert "cannot use --shared-gpus 'x': must be all" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
