"""A refusal names fields; the entries of these fields go, with the devices that need them."""

from __future__ import annotations

import pytest

from scheduler_core.publishing.refusals import SliceEntry, contents_of, refused_entries, without_entries

COUNTERS = {"metadata": {"name": "s-00"}, "spec": {"sharedCounters": [{"name": "gpu-0"}, {"name": "gpu-1"}]}}
V1 = {
    "metadata": {"name": "s-01"},
    "spec": {
        "driver": "d",
        "devices": [
            {"name": "gpu-0", "consumesCounters": [{"counterSet": "gpu-0"}]},
            {"name": "gpu-0-mig", "consumesCounters": [{"counterSet": "gpu-0"}]},
            {"name": "nic-0"},
        ],
    },
}
COMPOSITE = {
    "metadata": {"name": "c-00"},
    "spec": {
        "deviceMixins": [{"name": "kind"}, {"name": "other"}],
        "devices": [
            {"name": "gpu-0", "composite": {"includes": [{"name": "kind"}]}},
            {"name": "gpu-0-mig", "composite": {"consumesCapacityFrom": [{"name": "gpu-0"}]}},
            {"name": "gpu-0-ci", "composite": {"consumesCapacityFrom": [{"name": "gpu-0-mig"}]}},
            {"name": "nic-0", "composite": {"includes": [{"name": "other"}]}},
        ],
    },
}


def names(slices, kind="devices"):
    return [entry["name"] for one in slices for entry in one["spec"].get(kind, ())]


@pytest.mark.parametrize(
    ("slice_", "field", "entry"),
    [
        (V1, "spec.devices[1].attributes[d/x].string", SliceEntry("devices", "gpu-0-mig")),
        (V1, "spec.devices[2].name", SliceEntry("devices", "nic-0")),
        (V1, "spec.devices[2]", SliceEntry("devices", "nic-0")),
        (COUNTERS, "spec.sharedCounters[1].counters[memory]", SliceEntry("sharedCounters", "gpu-1")),
        (COMPOSITE, "spec.deviceMixins[0].composite.attributes.x.int", SliceEntry("deviceMixins", "kind")),
    ],
)
def test_a_field_of_an_entry_names_the_entry(slice_, field, entry):
    found = refused_entries(slice_, [field])

    assert list(found) == [entry]
    assert found == contents_of([slice_], {entry})


@pytest.mark.parametrize(
    "field",
    [
        "",
        "spec",
        "spec.devices",
        "spec.devices[99].name",
        "spec.devices[0].consumesCounters[0].counterSet",
        "spec.devices[0].nodeName",
        "metadata.name",
    ],
)
def test_what_names_no_entry_or_the_form_of_all_entries_takes_nothing_away(field):
    assert refused_entries(V1, [field]) == {}


def test_a_counter_set_goes_with_the_devices_that_draw_from_it():
    left = without_entries([COUNTERS, V1], {SliceEntry("sharedCounters", "gpu-0")})

    assert names(left, "sharedCounters") == ["gpu-1"]
    assert names(left) == ["nic-0"]


def test_a_mixin_goes_with_the_devices_that_include_it_and_all_that_is_cut_from_them():
    (left,) = without_entries([COMPOSITE], {SliceEntry("deviceMixins", "kind")})

    assert names([left], "deviceMixins") == ["other"]
    assert names([left]) == ["nic-0"]


def test_a_device_of_v1_goes_alone_and_an_empty_list_is_no_field():
    left = without_entries([V1], {SliceEntry("devices", "gpu-0")})
    none = without_entries(
        [COUNTERS], {SliceEntry("sharedCounters", "gpu-0"), SliceEntry("sharedCounters", "gpu-1")}
    )

    assert names(left) == ["gpu-0-mig", "nic-0"]
    assert none[0]["spec"] == {}
    assert V1["spec"]["devices"][0]["name"] == "gpu-0"
