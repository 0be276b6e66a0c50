"""No odd value takes a node away: the attribute goes and is told, else the device, never the pool."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.hardware.types import DriverVersions, Placement
from agent.inventory import describe, discover, offered
from agent.slices import composite_slices, encoded, v1_slices
from scheduler_core.codec import composite, v1
from scheduler_core.dialects.mixins import flatten
from scheduler_core.model.validity import why_not_amount, why_not_attribute

NUMA = "resource.kubernetes.io/numaNode"
FIRST, SECOND = "gpu-0", "gpu-1"


@pytest.fixture(scope="module")
def node(tmp_path_factory):
    machine = SimulatedMachine.open(load_node("a100x2"), tmp_path_factory.mktemp("machine"))
    return discover(simulated_hardware(machine).readers, "node-1")


def with_gpu(node, **changes):
    """The node, whose first GPU differs."""
    first, *others = node.gpus
    return replace(node, gpus=(replace(first, gpu=replace(first.gpu, **changes)), *others))


def with_function(node, **changes):
    first, *others = node.gpus
    return replace(node, gpus=(replace(first, function=replace(first.function, **changes)), *others))


def with_profile(node, **changes):
    """The node, whose first GPU tells other figures of its first profile."""
    first, *others = node.gpus
    profile, *rest = first.profiles
    return replace(node, gpus=(replace(first, profiles=(replace(profile, **changes), *rest)), *others))


def published(inventory):
    """Return what is published, after the rules of a server: every value, both dialects, one valid pool."""
    devices = describe(offered(inventory))
    pool = v1.pools(v1.decode_slice(one) for one in v1_slices(devices))[0]
    again = flatten([composite.decode_slice(one) for one in encoded(composite_slices(devices))])
    for each in (pool, again):
        assert (each.problem, dict(each.rejected)) == (None, {})
        for device in each.devices:
            assert [why_not_attribute(key, value) for key, value in device.attributes.items()] == [
                None
            ] * len(device.attributes)
            assert [
                why for key, amount in device.capacity.items() if (why := why_not_amount(key, amount))
            ] == []
    return devices


def attributes(devices, name):
    return next(one.attributes for one in devices.pool.devices if one.name == name)


def told(devices, word):
    return [sentence for sentence in devices.left_out if word in sentence]


def test_a_numa_number_of_10_to_the_23_takes_away_that_attribute_alone(node):
    devices = published(with_function(node, numa_node=10**23))

    assert devices.by_name.keys() == describe(offered(node)).by_name.keys()
    assert NUMA not in attributes(devices, FIRST)
    assert NUMA in attributes(devices, SECOND)
    assert told(devices, NUMA)[0] == f"gpu-0 goes without {NUMA}: 10{'0' * 22} is more than 64 bits hold"


def test_a_string_of_300_characters_takes_away_that_attribute_alone(node):
    devices = published(with_gpu(node, architecture="x" * 300))

    assert devices.by_name.keys() == describe(offered(node)).by_name.keys()
    assert "tangram.dev/architecture" not in attributes(devices, FIRST)
    assert "has 300 bytes; at most 64 are allowed" in told(devices, "architecture")[0]


@pytest.mark.parametrize("text", ["", "no version", "5" * 80, "560.35\x00"])
def test_a_driver_that_tells_no_version_takes_away_that_attribute_alone(node, text):
    devices = published(replace(node, versions=DriverVersions(text, "12.6")))

    assert "tangram.dev/driverVersion" not in attributes(devices, FIRST)
    assert "tangram.dev/cudaDriverVersion" in attributes(devices, FIRST)
    assert told(devices, "driverVersion")[0].startswith("GPUs go without driverVersion: ")


def test_a_memory_beyond_64_bits_takes_away_that_gpu_and_what_is_cut_from_it_and_no_other(node):
    devices = published(with_gpu(node, memory_bytes=2**64, product_name="Odd"))

    assert not [name for name in devices.by_name if name.startswith(FIRST)]
    assert [name for name in devices.by_name if name.startswith(SECOND)]
    assert "gpu-odd what includes it is not published: " in told(devices, "64 bits")[0]
    assert told(devices, "gpu-0 is not published")


def test_a_gpu_without_a_memory_of_its_own_is_published(node):
    integrated = with_gpu(node, memory_bytes=None, mig=None, product_name="Orin", brand=None)
    first, second = integrated.gpus
    devices = published(replace(integrated, gpus=(replace(first, profiles=(), instances=()), second)))

    assert FIRST in devices.by_name
    assert "tangram.dev/memory" not in devices.capacity(FIRST)
    assert told(devices, FIRST) == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"placements": (Placement(0, 10**9),)}, "places it at memory slice 0 with 1000000000"),
        ({"placements": (Placement(-1, 1),)}, "places it at memory slice -1 with 1"),
        ({"placements": ()}, "tells no placement of it"),
    ],
)
def test_a_profile_whose_figures_cannot_be_goes_and_the_others_stay(node, changes, why):
    name = node.gpus[0].profiles[0].name

    devices = published(with_profile(node, **changes))

    assert told(devices, f"gpu-0 goes without profile {name!r}")[0].endswith(why)
    assert len([one for one in devices.by_name if one.startswith(f"{FIRST}-mig")]) > 10


def test_a_profile_with_a_name_that_is_none_takes_away_its_partitions_alone(node):
    devices = published(with_profile(node, name="1g.5gb/\N{SNOWMAN}"))

    gone = [sentence for sentence in devices.left_out if "its name must be a DNS label" in sentence]
    assert gone
    assert FIRST in devices.by_name
    assert all("\N{SNOWMAN}" not in name for name in devices.by_name)


def test_a_second_gpu_of_one_number_is_told_and_the_first_stays(node):
    first, second = node.gpus
    twin = replace(second, gpu=replace(second.gpu, number=first.gpu.number))

    devices = published(replace(node, gpus=(first, twin)))

    assert FIRST in devices.by_name
    assert told(devices, "a second device of this name is not published")


TEXTS = st.one_of(st.text(max_size=100), st.just("x" * 300), st.just("\ud800"), st.just(""))
NUMBERS = st.one_of(st.integers(-5, 5), st.sampled_from([-(2**63), 2**63, 10**23, 10**400]))


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "product_name": TEXTS,
            "architecture": TEXTS,
            "brand": TEXTS,
            "cuda_compute_capability": TEXTS,
            "memory_bytes": st.one_of(st.none(), NUMBERS),
            "index": NUMBERS,
            "uuid": TEXTS,
        },
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "name": TEXTS,
            "memory_bytes": NUMBERS,
            "multiprocessors": NUMBERS,
            "copy_engines": NUMBERS,
            "placements": st.lists(st.builds(Placement, NUMBERS, NUMBERS), max_size=3).map(tuple),
        },
    ),
    st.one_of(st.none(), NUMBERS),
    st.builds(DriverVersions, TEXTS, TEXTS),
)
@settings(deadline=None, max_examples=60)
def test_whatever_one_gpu_answers_the_other_gpu_and_the_nics_stay_published(
    node, gpu, profile, numa, versions
):
    odd = with_function(with_profile(with_gpu(node, **gpu), **profile), numa_node=numa)

    devices = published(replace(odd, versions=versions))

    whole = describe(offered(node)).by_name.keys()
    assert {name for name in whole if not name.startswith(FIRST)} <= devices.by_name.keys()
