"""Projection to v1: the same devices fit together, or a refusal; the limits of slices hold."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base.errors import CannotProject
from scheduler_core.books.ledger import Ledger, Overdrawn
from scheduler_core.codec import v1
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project, spellings
from scheduler_core.state.testing import device, pool


@pytest.fixture
def listing(kep):
    return flatten(
        [
            decode_slice(
                {
                    "metadata": {"name": "s"},
                    "spec": {"driver": "gpu.nvidia.com", "pool": {"name": "n"}, "nodeName": "n"}
                    | kep("listing"),
                }
            )
        ]
    )


def read_back(projected, layout=Layout.SEPARATE):
    (back,) = v1.pools(v1.decode_slice(obj) for obj in v1.encode_pool(projected, layout))
    return back


def admitted(one_pool, names):
    ledger = Ledger(one_pool)
    try:
        for name in names:
            ledger.take(name, "x")
    except Overdrawn:
        return False
    return True


def small_pools():
    amounts = st.integers(0, 3)

    def build(spec):
        gpus, parts = spec
        devices = [device(f"g{i}", m=m, n=n) for i, (m, n) in enumerate(gpus)]
        devices += [
            device(f"p{i}", sources=[f"g{parent % len(gpus)}"], m=m, n=n)
            for i, (parent, m, n) in enumerate(parts)
        ]
        return pool(*devices)

    gpu = st.tuples(amounts, amounts)
    part = st.tuples(st.integers(0, 1), amounts, amounts)
    return st.tuples(st.lists(gpu, min_size=1, max_size=2), st.lists(part, max_size=4)).map(build)


@settings(max_examples=200)
@given(small_pools())
def test_both_forms_admit_the_same_sets_of_devices_or_the_pool_is_refused(composite):
    try:
        projected = project(composite)
    except CannotProject:
        assert any(set(found.parents) - {draw.source for draw in found.draws} for found in composite.devices)
        return
    back = read_back(projected)

    names = [found.name for found in composite.devices]
    for size in range(1, len(names) + 1):
        for chosen in combinations(names, size):
            assert admitted(composite, chosen) == admitted(back, chosen), chosen


def test_the_listing_becomes_two_counter_sets_of_14_counters_and_52_devices(listing):
    projected = project(listing)

    assert {name: len(counters) for name, counters in projected.sources.items()} == {"gpu-0": 14, "gpu-1": 14}
    assert len(projected.devices) == 52
    assert max(len(found.draws) for found in projected.devices) == 1


def test_names_are_camel_case_for_capacities_and_dashed_for_counters(listing):
    counters, devices = v1.encode_pool(project(listing), Layout.SEPARATE)

    small = next(d for d in devices["spec"]["devices"] if d["name"] == "gpu-0-mig-1g-5gb-3")
    assert set(small["capacity"]) >= {"copyEngines", "multiprocessors", "memorySlice3", "ofaEngines"}
    assert small["consumesCounters"] == [
        {
            "counterSet": "gpu-0",
            "counters": {
                "copy-engines": {"value": "1"},
                "memory": {"value": "4864Mi"},
                "memory-slice-3": {"value": "1"},
                "multiprocessors": {"value": "14"},
            },
        }
    ]
    assert [entry["name"] for entry in counters["spec"]["sharedCounters"]] == ["gpu-0", "gpu-1"]


def test_versions_are_completed_to_semver(listing):
    _, devices = v1.encode_pool(project(listing), Layout.SEPARATE)

    attributes = devices["spec"]["devices"][0]["attributes"]
    assert attributes["driverVersion"] == {"version": "560.35.3"}
    assert attributes["cudaDriverVersion"] == {"version": "12.6.0"}


def test_the_table_of_names_leads_back(listing):
    names = spellings(listing)

    for old, new in names.devices.items():
        assert names.device_of_label(new) == old
    for old, spelling in names.dimensions.items():
        assert names.dimension_of_counter(spelling.counter) == old
        assert names.dimension_of_capacity(spelling.capacity) == old


def test_the_layout_of_1_34_keeps_counters_beside_their_devices(listing):
    for obj in v1.encode_pool(project(listing), Layout.TOGETHER):
        own = {entry["name"] for entry in obj["spec"]["sharedCounters"]}
        used = {use["counterSet"] for entry in obj["spec"]["devices"] for use in entry["consumesCounters"]}
        assert used <= own
    assert read_back(project(listing), Layout.TOGETHER).problem is None


def many_gpus(count):
    return pool(
        *(
            entry
            for gpu in range(count)
            for entry in (
                device(f"g{gpu}", m=40),
                *(device(f"g{gpu}-p{part}", sources=[f"g{gpu}"], m=10) for part in range(25)),
            )
        )
    )


@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("gpus", [1, 8, 9, 17])
def test_slices_keep_within_8_sets_and_64_devices_and_count_themselves(gpus, layout):
    objects = v1.encode_pool(project(many_gpus(gpus)), layout)

    for obj in objects:
        assert len(obj["spec"].get("sharedCounters", ())) <= 8
        assert len(obj["spec"].get("devices", ())) <= 64
        assert obj["spec"]["pool"]["resourceSliceCount"] == len(objects)
        if layout is Layout.SEPARATE:
            assert ("devices" in obj["spec"]) != ("sharedCounters" in obj["spec"])
    assert read_back(project(many_gpus(gpus)), layout).is_complete


def test_devices_keep_their_order_over_all_slices():
    projected = project(many_gpus(9))

    assert [found.name for found in read_back(projected).devices] == [
        found.name for found in projected.devices
    ]


def test_an_empty_pool_is_one_empty_slice():
    (obj,) = v1.encode_pool(project(pool()), Layout.SEPARATE)

    assert obj["spec"]["pool"]["resourceSliceCount"] == 1
    assert "devices" not in obj["spec"]


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        (
            [
                device("g", m=4),
                device("i", sources=["g"], m=2),
                *(device(name, sources=["i"], m=1) for name in ("l", "n", "o")),
            ],
            "i is cut into devices and itself cut from g",
        ),
        ([device("g", m=4), device("p", sources=["g"], m=0)], "p names g without drawing anything from it"),
        (
            [device("x", m=4), device("y", m=4), device("p", sources=["x", "y"], m=1)],
            "p names x without drawing anything from it",
        ),
        (
            [
                device("x", a=2, m=1),
                device("y", b=2, n=1),
                device("z", c=1),
                device("p", sources=["x", "y", "z"], a=1, b=1, c=1),
                device("q", sources=["x", "y"], a=1, m=1, n=1),
            ],
            "q draws from 3 sources; v1 allows 2",
        ),
        ([device("g", **{f"k{i}": 1 for i in range(33)})], "has 33 attributes and capacities; v1 allows 32"),
    ],
)
def test_what_counting_cannot_say_is_refused_with_the_reason(devices, reason):
    with pytest.raises(CannotProject) as refusal:
        project(pool(*devices))

    assert any(reason in found for found in refusal.value.reasons)


def test_the_policies_of_a_device_for_several_claims_keep_to_its_capacities_in_v1s_names():
    policy = {"default": "1", "validRange": {"min": "1", "max": "4", "step": "1"}}
    shared = {
        "allowMultipleAllocations": True,
        "capacity": {"copy-engines": {"quantity": "4", "requestPolicy": policy}},
    }
    spec = {
        "driver": "gpu.example.com",
        "pool": {"name": "n"},
        "nodeName": "n",
        "devices": [{"name": "a", "composite": shared}],
    }

    (found,) = read_back(project(flatten([decode_slice({"metadata": {"name": "s"}, "spec": spec})]))).devices

    assert found.is_shareable
    assert set(found.capacity) == set(found.policies) == {"gpu.example.com/copyEngines"}
