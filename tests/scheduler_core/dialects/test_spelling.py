import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.dialects.spelling import table
from scheduler_core.model.device import DeviceName, QualifiedName
from scheduler_core.model.names import capacity_spelling, counter_spelling

WORDS = st.lists(st.from_regex(r"\A[a-z]{2,6}\Z"), min_size=1, max_size=4)


def dimension(identifier: str) -> QualifiedName:
    return QualifiedName(f"gpu.example.com/{identifier}")


@pytest.mark.parametrize(
    ("composite", "capacity", "counter"),
    [
        ("copy-engines", "copyEngines", "copy-engines"),
        ("memorySlice0", "memorySlice0", "memory-slice-0"),
        ("memorySlice11", "memorySlice11", "memory-slice-11"),
        ("multiprocessors", "multiprocessors", "multiprocessors"),
        ("vfSlots", "vfSlots", "vf-slots"),
    ],
)
def test_a_dimension_has_a_capacity_name_and_a_counter_name(composite, capacity, counter):
    names = table([dimension(composite)], [])

    spelling = names.dimensions[dimension(composite)]
    assert (spelling.capacity, spelling.counter) == (dimension(capacity), counter)
    assert names.dimension_of_counter(counter) == dimension(composite)
    assert names.dimension_of_capacity(dimension(capacity)) == dimension(composite)


@given(WORDS)
def test_every_spelling_leads_back_to_the_others(words):
    dashed = "-".join(words)
    camel = capacity_spelling(dashed)

    assert counter_spelling(camel) == counter_spelling(dashed) == dashed
    assert capacity_spelling(counter_spelling(camel)) == camel


def test_two_dimensions_that_meet_are_refused():
    names = table([dimension("copy-engines"), dimension("copyEngines")], [])

    assert "would both be" in names.problems[0]
    assert "copy-engines" in names.problems[0]
    assert "copyEngines" in names.problems[0]


def test_a_dimension_that_does_not_come_back_is_refused():
    assert "no reversible v1 names" in table([dimension("a-1-2")], []).problems[0]


def test_device_names_lose_their_dots_and_find_them_again():
    name = DeviceName("gpu-0-mig-1g.5gb-0")
    names = table([], [name])

    label = names.devices[name]
    assert label == "gpu-0-mig-1g-5gb-0"
    assert names.device_of_label(label) == name


def test_two_devices_that_meet_are_refused():
    names = table([], [DeviceName("a.b"), DeviceName("a-b")])

    assert names.problems == ("devices 'a.b' and 'a-b' would both be 'a-b'",)
