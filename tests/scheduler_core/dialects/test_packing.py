"""Every device keeps its slice: laws over any history of a pool, within the API's limits."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.base import limits
from scheduler_core.base.quantity import Quantity
from scheduler_core.dialects.layout import Layout, cut
from scheduler_core.dialects.packing import Packed, packed
from scheduler_core.model.device import Device, DeviceName, Draw, SourceName
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.model.taints import Taint

ONE = Quantity.of(1)


def pool_of(sizes, *, tainted=()):
    """A pool of GPUs with so many devices each, by number, none for a GPU that is not there."""
    devices, sources = [], {}
    for number, size in enumerate(sizes):
        source = SourceName(f"gpu-{number}")
        if size:
            sources[source] = {"memory": Quantity.of(size)}
        taints = (Taint("x"),) if number in tainted else ()
        devices += [
            Device(
                name=DeviceName(f"gpu-{number}-{index}"),
                draws=(Draw(source, {"memory": ONE}),),
                taints=taints,
            )
            for index in range(size)
        ]
    return Pool(id=PoolId("d.example", "node-1"), devices=tuple(devices), sources=sources)


def plain_pool(count):
    devices = tuple(Device(name=DeviceName(f"nic-{index}")) for index in range(count))
    return Pool(id=PoolId("d.example", "node-1"), devices=devices)


SIZES = st.lists(st.integers(0, 30), min_size=1, max_size=20)
LAYOUTS = st.sampled_from(Layout)


def changed(before, after):
    """Return the slices that differ, by index."""
    pairs = zip(_written(before), _written(after), strict=True)
    return [index for index, (old, new) in enumerate(pairs) if old != new]


def _written(content):
    return [
        ({name: dict(content.sources[name]) for name in one.sources}, one.devices) for one in content.cuts
    ]


@given(LAYOUTS, st.lists(SIZES, min_size=1, max_size=6))
@settings(deadline=None)
def test_whatever_a_pool_goes_through_it_lies_whole_within_the_limits(layout, history):
    content = None
    for sizes in history:
        pool = pool_of(sizes)
        content = packed(pool, layout, content)

        listed = [device for one in content.cuts for device in one.devices]
        assert sorted(listed, key=lambda one: one.name) == sorted(pool.devices, key=lambda one: one.name)
        sets = [name for one in content.cuts for name in one.sources]
        assert len(sets) == len(set(sets))
        assert {name: content.sources[name] for name in pool.sources} == pool.sources
        for one in content.cuts:
            assert len(one.devices) <= limits.DEVICES_WITH_COUNTERS
            assert len(one.sources) <= limits.COUNTER_SETS
            assert layout is Layout.TOGETHER or not (one.sources and one.devices)


@given(LAYOUTS, st.lists(st.integers(1, 30), min_size=2, max_size=20), st.data())
@settings(deadline=None)
def test_one_gpu_that_goes_and_comes_back_changes_one_slice_each_time(layout, sizes, data):
    gone = data.draw(st.integers(0, len(sizes) - 1))
    before = packed(pool_of(sizes), layout)
    without = packed(pool_of([0 if n == gone else size for n, size in enumerate(sizes)]), layout, before)
    if len(without.cuts) != len(before.cuts):
        return  # hardly anything was left: all of it was packed anew

    again = packed(pool_of(sizes), layout, without)

    assert len(changed(before, without)) == 1
    assert changed(without, again) == changed(before, without)
    assert changed(before, again) == []


@given(LAYOUTS, st.lists(st.integers(1, 30), min_size=1, max_size=20), st.data())
@settings(deadline=None)
def test_taints_of_one_gpu_change_one_slice(layout, sizes, data):
    marked = data.draw(st.integers(0, len(sizes) - 1))
    before = packed(pool_of(sizes), layout)

    after = packed(pool_of(sizes, tainted={marked}), layout, before)

    assert len(changed(before, after)) == 1


@given(LAYOUTS, SIZES)
def test_a_pool_that_was_never_packed_lies_as_ever(layout, sizes):
    pool = pool_of(sizes)

    assert packed(pool, layout).cuts == cut(pool, layout)


@given(LAYOUTS, LAYOUTS, SIZES, SIZES)
@settings(deadline=None)
def test_slices_of_the_other_layout_are_no_reason_to_mix(was, layout, sizes, later):
    content = packed(pool_of(later), layout, packed(pool_of(sizes), was))

    if was is not layout and any(sizes):
        assert content.cuts == cut(pool_of(later), layout)


def test_devices_that_draw_nothing_keep_their_slices_one_by_one():
    before = packed(plain_pool(300), Layout.SEPARATE)
    left = [one for one in plain_pool(300).devices if one.name != "nic-130"]
    pool = Pool(id=PoolId("d.example", "node-1"), devices=tuple(left))

    after = packed(pool, Layout.SEPARATE, before)

    assert changed(before, after) == [1]


def test_a_slice_that_gets_taints_and_is_too_full_for_them_is_packed_anew():
    before = packed(plain_pool(100), Layout.SEPARATE)
    devices = tuple(
        Device(name=one.name, taints=(Taint("x"),)) if one.name == "nic-3" else one
        for one in plain_pool(100).devices
    )

    after = packed(Pool(id=PoolId("d.example", "node-1"), devices=devices), Layout.SEPARATE, before)

    assert [len(one.devices) for one in after.cuts] == [64, 36]


def test_a_pool_of_which_little_is_left_is_packed_anew():
    before = packed(pool_of([30] * 20), Layout.SEPARATE)

    after = packed(pool_of([30]), Layout.SEPARATE, before)

    assert after == Packed.of(cut(pool_of([30]), Layout.SEPARATE), pool_of([30]).sources)
