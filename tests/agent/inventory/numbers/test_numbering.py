"""A number belongs to one PCI address, for good."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.inventory.numbers.numbering import (
    LAST_NUMBER,
    GpusSeen,
    Witness,
    first_numbers,
    in_pci_order,
    with_new_gpus,
)

ADDRESSES = [f"{domain}:{bus:02x}:00.0" for domain in ("0000", "0001", "10000") for bus in range(4)]
SETS = st.sets(st.sampled_from(ADDRESSES))
WITNESSES = st.builds(Witness, st.integers(0, 15), st.sampled_from(ADDRESSES))


def seen(*addresses, by_uuid=()):
    return GpusSeen(frozenset(addresses), dict(by_uuid))


def test_gpus_are_numbered_by_domain_bus_and_device():
    found = in_pci_order(seen("10000:01:00.0", "0000:b7:00.0", "0001:01:00.0", "0000:0f:00.0"))

    assert found == {"0000:0f:00.0": 0, "0000:b7:00.0": 1, "0001:01:00.0": 2, "10000:01:00.0": 3}


def test_a_gpu_that_is_gone_keeps_its_number_and_a_new_one_gets_a_new_number():
    first = in_pci_order(seen("0000:02:00.0", "0000:04:00.0"))

    found = with_new_gpus(first, seen("0000:04:00.0", "0000:01:00.0", "0000:03:00.0"))

    assert found == {"0000:02:00.0": 0, "0000:04:00.0": 1, "0000:01:00.0": 2, "0000:03:00.0": 3}


@given(st.lists(SETS, min_size=1))
def test_whatever_comes_and_goes_no_number_ever_means_another_address(looks):
    known: dict[str, int] = {}
    for addresses in looks:
        found = with_new_gpus(known, seen(*addresses))
        assert addresses <= found.keys()
        assert {bdf: found[bdf] for bdf in known} == known
        assert len(set(found.values())) == len(found)
        known = dict(found)


@given(st.lists(WITNESSES), SETS)
def test_a_node_without_numbers_takes_those_that_somebody_wrote_down(witnesses, addresses):
    found = first_numbers(witnesses, seen(*addresses))

    assert addresses <= found.keys()
    assert len(set(found.values())) == len(found)
    if witnesses:
        assert found[witnesses[0].address] == witnesses[0].number


@given(SETS)
def test_without_witnesses_the_numbers_are_those_of_the_pci_order(addresses):
    found = in_pci_order(seen(*addresses))

    assert sorted(found.values()) == list(range(len(addresses)))
    assert [bdf for bdf, _ in sorted(found.items(), key=lambda each: each[1])] == [
        bdf for bdf in sorted(addresses, key=lambda bdf: (len(bdf), bdf))
    ]


def test_what_nobody_wrote_down_takes_the_numbers_that_are_left():
    found = first_numbers(
        [Witness(0, "0000:03:00.0"), Witness(3, uuid="GPU-b")],
        seen("0000:01:00.0", "0000:02:00.0", "0000:03:00.0", by_uuid={"GPU-b": "0000:02:00.0"}),
    )

    assert found == {"0000:03:00.0": 0, "0000:02:00.0": 3, "0000:01:00.0": 1}


@pytest.mark.parametrize("number", [-1, LAST_NUMBER + 1])
def test_a_witness_of_a_number_that_no_gpu_can_have_is_passed_over(number):
    found = first_numbers([Witness(number, "0000:01:00.0")], seen("0000:01:00.0"))

    assert found == {"0000:01:00.0": 0}


def test_after_the_last_number_new_gpus_take_those_that_none_has():
    known = {"0000:01:00.0": LAST_NUMBER - 1, "0000:02:00.0": 0}

    found = with_new_gpus(known, seen("0000:03:00.0", "0000:04:00.0", "0000:05:00.0"))

    assert found == {**known, "0000:03:00.0": LAST_NUMBER, "0000:04:00.0": 1, "0000:05:00.0": 2}


def test_a_witness_of_a_gpu_that_is_gone_keeps_its_number_from_others():
    found = first_numbers([Witness(0, "0000:01:00.0"), Witness(5, uuid="GPU-gone")], seen("0000:02:00.0"))

    assert found == {"0000:01:00.0": 0, "0000:02:00.0": 1}
