"""Compute instances of one GPU instance as devices: opt-in, and together just where hardware has both."""

import json
from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mig_oracle import Board

from agent.__main__ import main as agent
from agent.hardware.compute_profiles import narrower_profiles
from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node, node_text, parse_node, shipped_nodes
from agent.hardware.simulated.gpu_models import FOLDER, gpu_models, load_model
from agent.inventory import describe, discover
from agent.inventory.model import LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.options.split_option import read_split_gpus
from agent.inventory.partitions import shipped_table
from agent.inventory.published import MigComputeInstance, MigPartition, WholeGpu
from agent.publishing.fixed import fixed_pool
from agent.slices import composite_slices, encoded, v1_slices
from daemon.command_line import InvalidOption
from plugin.__main__ import main as plugin
from scheduler_core.base.limits import PROPERTIES
from scheduler_core.books.ledger import Ledger
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.frontends.partitions.table import table_of

SPLIT = SplitGpus(frozenset({0}))
MODELS = [
    name
    for name in gpu_models()
    if not load_model(name).left_out and any(profile.narrower for profile in load_model(name).profiles)
]
"""The models with compute instances of which every figure is known."""
LEAF = "gpu-0-mig-1c-3g-20gb-0-3-ci-2"


def machine_of(node, folder):
    return simulated_hardware(SimulatedMachine.open(node, folder))


def with_model(model):
    """Two GPUs of a model, on the tree of a shipped machine."""
    text = node_text("a100x2")
    start, end = text.index("memory:"), text.index("numa:")
    return parse_node("made.yaml", (text[:start] + text[end:]).replace("a100-sxm4-40gb", model))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    known = {}

    def read(name="a100x2", **more):
        if name not in known:
            node = with_model(name) if name in MODELS else load_node(name)
            machine = machine_of(node, tmp_path_factory.mktemp(name))
            known[name] = discover(machine.readers, "node-1")
        return replace(known[name], **{"split": SPLIT, **more})

    return read


def as_published(devices, layouts=(Layout.SEPARATE, Layout.TOGETHER)):
    """The pool as readers of each dialect see it."""
    yield flatten([decode_slice(one) for one in encoded(composite_slices(devices))])
    for layout in layouts:
        (pool,) = v1.pools(v1.decode_slice(one) for one in v1_slices(devices, layout))
        yield pool


def parts_of_gpu_0(devices):
    return {
        name: one
        for name, one in devices.by_name.items()
        if isinstance(one, WholeGpu | MigPartition | MigComputeInstance) and one.gpu.minor == 0
    }


def leaves(devices):
    return [name for name, one in devices.by_name.items() if isinstance(one, MigComputeInstance)]


@pytest.mark.parametrize("model", gpu_models())
def test_the_profiles_of_a_slice_count_are_those_of_every_model_that_has_a_listing(model):
    rows = json.loads((FOLDER / f"{model}.json").read_text())["gpu_instance_profiles"]
    architecture = load_model(model).architecture
    for row in rows:
        told = narrower_profiles(
            row["slice_count"],
            row["multiprocessors"] or 0,
            architecture=architecture,
            most_compute_slices=max(each["slice_count"] for each in rows),
        )
        listed = [ci for ci in row["compute_instance_profiles"] if ci["slice_count"] < row["slice_count"]]
        assert [(one.width, len(one.starts)) for one in told] == [
            (ci["slice_count"], ci["max_instances"]) for ci in listed
        ]
        if architecture == "Ampere":
            assert [one.multiprocessors for one in told] == [ci["multiprocessors"] for ci in listed]


def test_without_the_option_slices_are_as_before(found):
    before, split = describe(found(split=None)), describe(found())

    assert leaves(before) == []
    others = [device for device in split.pool.devices if device.name not in leaves(split)]
    assert [device.name for device in others] == [device.name for device in before.pool.devices]


def test_the_option_splits_the_gpus_that_it_names_and_tells_of_those_that_are_missing(found):
    devices = describe(found(split=SplitGpus(frozenset({1, 7}))))

    assert leaves(devices)
    assert all(name.startswith("gpu-1-") for name in leaves(devices))
    assert "compute instances of gpu-7: GPU 7 is missing" in devices.left_out


def test_a_compute_instance_says_its_profile_and_that_of_its_gpu_instance(found):
    devices = describe(found())
    (leaf,) = (one for one in devices.pool.devices if one.name == LEAF)
    told = {key.partition("/")[2]: value for key, value in leaf.attributes.items()}

    assert (told["type"], told["profile"], told["parentProfile"]) == (
        "compute-instance",
        "1c.3g.20gb",
        "3g.20gb",
    )
    assert told["parentMinor"] == 0
    assert {key.partition("/")[2]: str(value) for key, value in leaf.capacity.items()} == {
        "multiprocessors": "14",
        "computeSlice2": "1",
    }


def test_a_figure_that_no_source_has_is_not_published(found):
    devices = describe(found("hgx-h100"))

    leaf = next(one for one in devices.pool.devices if one.name in leaves(devices))

    assert not any(key.endswith("/multiprocessors") for key in leaf.capacity)


def test_profiles_that_would_exceed_the_limit_of_a_device_stay_whole_and_are_told(found):
    devices = describe(found())

    told = [sentence for sentence in devices.left_out if sentence.startswith("compute instances of gpu-0")]
    assert len(told) == 1
    assert f"7g.40gb, whose devices would have 37 attributes and capacities; {PROPERTIES} are" in told[0]
    assert not any("7g" in name for name in leaves(devices))
    assert devices.pool.rejected == {}


def test_leaves_come_after_all_partitions_of_their_gpu_so_that_first_fit_takes_those(found):
    names = [name for name in describe(found()).by_name if name.startswith("gpu-0-")]

    at = [index for index, name in enumerate(names) if "-ci-" in name]
    assert at == list(range(at[0], len(names)))


@pytest.mark.parametrize("node", [name for name in shipped_nodes() if name != "no-gpu"])
def test_the_slices_of_every_shipped_machine_keep_their_limits_and_nothing_is_rejected(found, node):
    devices = describe(found(node, split=SplitGpus()))

    for pool in as_published(devices):
        assert pool.rejected == {}
        assert {device.name for device in pool.devices} >= {*leaves(devices)}
        assert pool.is_complete


@pytest.mark.parametrize("model", MODELS)
def test_every_two_parts_of_a_gpu_fit_together_just_if_hardware_can_have_both(found, model):
    devices, board = describe(found(model)), Board.of(model)
    parts = parts_of_gpu_0(devices)

    for pool in as_published(devices, [Layout.SEPARATE]):
        for one, other in combinations(parts, 2):
            ledger = Ledger(pool)
            ledger.take(one, "x")
            assert ledger.admits(other) == board.can_have([parts[one], parts[other]]), (one, other)


@pytest.mark.parametrize("model", ["a100-sxm4-40gb", "a30-24gb", "h100-sxm5-80gb", "h200-sxm-141gb"])
def test_in_any_order_of_claims_no_slice_is_used_twice_and_none_is_refused_in_vain(found, model):
    devices, board = describe(found(model)), Board.of(model)
    parts = parts_of_gpu_0(devices)
    pools = list(as_published(devices))

    @settings(max_examples=60, deadline=None, database=None)
    @given(st.data())
    def law(data):
        # Leaves of few GPU instances meet each other more often than those of all.
        some = data.draw(st.lists(st.sampled_from(sorted(parts)), min_size=4, max_size=12, unique=True))
        ledgers, held = [Ledger(pool) for pool in pools], []
        for name in data.draw(st.lists(st.sampled_from(some), max_size=25)):
            if name in held:
                held.remove(name)
                for ledger in ledgers:
                    ledger.release(name)
                continue
            allowed = board.can_have([parts[one] for one in (*held, name)])
            assert [ledger.admits(name) for ledger in ledgers] == [allowed] * 3, (held, name)
            if allowed:
                held.append(name)
                for ledger in ledgers:
                    ledger.take(name, "x")

    law()


def test_a_gpu_in_shares_and_compute_instances_exclude_each_other(found):
    devices = describe(found(modes=GpuModes(ModesOfGpu(shared=100))))

    for pool in as_published(devices):
        ledger = Ledger(pool)
        ledger.take(LEAF, "x")
        assert not ledger.admits("gpu-0-shared")
        assert ledger.admits("gpu-1-shared")


def test_beside_modes_that_are_in_use_side_by_side_there_are_none(found):
    devices = describe(found(modes=GpuModes(by_number={0: ModesOfGpu(shared=50, mps=50)}), split=SplitGpus()))

    assert LEAF not in devices.by_name
    assert LEAF.replace("gpu-0", "gpu-1") in devices.by_name
    assert "compute instances of gpu-0: none, its modes are in use side by side" in devices.left_out
    assert all(pool.rejected == {} for pool in as_published(devices))


def test_pairs_of_linked_gpus_and_compute_instances_exclude_each_other(found):
    pair = LinkedGpus(table_of("table", {"2": [{"minors": [0, 1], "allocationScore": 1}]}))
    devices = describe(found(linked=pair))

    for pool in as_published(devices, [Layout.SEPARATE]):
        ledger = Ledger(pool)
        ledger.take(LEAF, "x")
        assert not ledger.admits("gpus-0-1")
        assert ledger.admits("gpu-0-mig-1c-3g-20gb-0-3-ci-0")
        assert ledger.admits("gpu-1")


def test_where_v1_cannot_say_what_they_exclude_they_are_left_out_and_told(found):
    linked = LinkedGpus(shipped_table("hgx-h100"))
    devices = describe(found("hgx-h100", linked=linked))

    assert leaves(devices) == []
    told = [sentence for sentence in devices.left_out if sentence.startswith("compute instances of gpu-0")]
    assert "draws from 4 sources; v1 allows 2 counter sets" in told[-1]
    list(as_published(devices, [Layout.SEPARATE]))


def test_where_nobody_counts_no_compute_instance_is_published(found):
    inventory = found()
    devices = describe(inventory)

    names = {device.name for device in fixed_pool(devices, ()).devices}

    assert not names & {*leaves(devices)}


def test_devices_of_one_profile_differ_in_their_places_only(found):
    devices = describe(found())
    profiles = Counter(
        (one.profile.name, one.place.size)
        for one in devices.by_name.values()
        if isinstance(one, MigComputeInstance)
    )

    assert profiles == {
        ("2g.10gb", 1): 6,
        ("3g.20gb", 1): 6,
        ("3g.20gb", 2): 2,
        ("4g.20gb", 1): 4,
        ("4g.20gb", 2): 2,
    }


@pytest.mark.parametrize("text", ["", "0,", "a", "5-2", "0,256", "ALL"])
def test_a_wrong_value_is_refused_with_option_value_and_rule(text):
    with pytest.raises(InvalidOption, match="--compute-instances") as error:
        read_split_gpus(text)

    assert repr(text) in str(error.value)


@pytest.mark.parametrize("program", [agent, plugin])
def test_both_programs_refuse_a_wrong_value_with_one_message(program, capsys):
    assert program(["--simulated", "a100x2", "--machine", "/nowhere", "--compute-instances", "x"]) == 2

    assert capsys.readouterr().err.count("--compute-instances") == 1
