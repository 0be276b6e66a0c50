from copy import copy
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.books.ledger import Ledger, Overdrawn
from scheduler_core.model.device import DeviceName, SourceName
from scheduler_core.model.obstacles import Held, ParentsInUse
from scheduler_core.state.testing import DRIVER, device, pool

MEMORY = f"{DRIVER}/m"


def nested():
    return pool(
        device("gpu", m=40),
        *(device(f"gi-{gi}", sources=["gpu"], m=20) for gi in "ab"),
        *(device(f"ci-{gi}{ci}", sources=[f"gi-{gi}"], m=10) for gi in "ab" for ci in range(2)),
    )


def allocatable(ledger, devices):
    return {name for name in devices if ledger.admits(DeviceName(name))}


def test_a_source_is_refused_while_a_part_of_it_is_taken_and_says_by_whom():
    ledger = Ledger(pool(device("gpu", m=40), device("part", sources=["gpu"], m=10)))
    ledger.take(DeviceName("part"), "team/job")

    with pytest.raises(Overdrawn, match=r"parts of gpu are held by team/job \(part\)"):
        ledger.take(DeviceName("gpu"), "other")


def test_a_part_is_refused_while_its_source_is_taken():
    ledger = Ledger(pool(device("gpu", m=40), device("part", sources=["gpu"], m=10)))
    ledger.take(DeviceName("gpu"), "team/job")

    assert ledger.obstacle(DeviceName("part")) == ParentsInUse((Held(DeviceName("gpu"), "team/job"),))


def test_a_refusal_changes_nothing():
    ledger = Ledger(pool(device("gpu", m=15), *(device(f"p{i}", sources=["gpu"], m=10) for i in range(2))))
    ledger.take(DeviceName("p0"), "a")
    before = ledger.left(SourceName("gpu"), MEMORY)

    with pytest.raises(
        Overdrawn, match=r"gpu has too little m left: 10 needed, 5 of 15 left; held by a \(p0\)"
    ):
        ledger.take(DeviceName("p1"), "b")

    assert ledger.left(SourceName("gpu"), MEMORY) == before
    assert dict(ledger.taken) == {"p0": "a"}


def test_an_intermediate_is_paid_for_once_however_many_leaves_it_has():
    ledger = Ledger(nested())
    ledger.take(DeviceName("ci-a0"), "x")
    after_first = ledger.left(SourceName("gpu"), MEMORY)
    ledger.take(DeviceName("ci-a1"), "x")

    assert ledger.left(SourceName("gpu"), MEMORY) == after_first
    assert ledger.admits(DeviceName("gi-b"))
    assert not ledger.admits(DeviceName("gi-a"))


def test_the_last_leaf_gives_the_intermediate_back():
    ledger = Ledger(nested())
    for name in ("ci-a0", "ci-a1"):
        ledger.take(DeviceName(name), "x")
    ledger.release(DeviceName("ci-a0"))
    assert not ledger.admits(DeviceName("gi-a"))

    ledger.release(DeviceName("ci-a1"))

    assert ledger.admits(DeviceName("gi-a"))
    assert ledger.admits(DeviceName("gpu"))


def test_what_is_held_already_is_entered_even_if_it_overdraws():
    ledger = Ledger(pool(device("gpu", m=10), *(device(f"p{i}", sources=["gpu"], m=10) for i in range(3))))
    ledger.record(DeviceName("p0"), "a")
    ledger.record(DeviceName("p1"), "b")
    ledger.record(DeviceName("gone"), "c")

    assert ledger.left(SourceName("gpu"), MEMORY) < 0
    assert not ledger.admits(DeviceName("p2"))


NAMES = [str(d.name) for d in nested().devices]


@given(st.lists(st.sampled_from(NAMES), max_size=8), st.randoms(use_true_random=False))
def test_the_order_of_taking_never_matters(wanted, random):
    first = Ledger(nested())
    taken = [
        name for name in wanted if first.admits(DeviceName(name)) and not first.take(DeviceName(name), "x")
    ]
    again = list(taken)
    random.shuffle(again)

    second = Ledger(nested())
    for name in again:
        second.take(DeviceName(name), "x")

    assert allocatable(first, NAMES) == allocatable(second, NAMES)


def grouped():
    parts = [f"{group}-{number}" for group in "ab" for number in range(2)]
    plain = pool(device("gpu", m=40), *(device(name, sources=["gpu"], m=10) for name in parts))

    def in_group(one):
        return replace(one, draws=tuple(replace(draw, groups=frozenset({one.name[0]})) for draw in one.draws))

    return replace(plain, devices=tuple(in_group(one) if one.name != "gpu" else one for one in plain.devices))


@pytest.mark.parametrize("devices", [nested(), grouped()], ids=["nested", "in groups"])
@given(st.data())
def test_a_copy_goes_on_as_its_original_would_and_neither_sees_the_other(devices, data):
    names = st.lists(st.sampled_from([str(d.name) for d in devices.devices]), max_size=6)
    earlier, later, other = data.draw(names), data.draw(names), data.draw(names)

    def take(ledger, wanted):
        return [ledger.admits(DeviceName(n)) and not ledger.take(DeviceName(n), "x") for n in wanted]

    def at_once(wanted):
        ledger = Ledger(devices)
        take(ledger, earlier)
        return take(ledger, wanted), ledger.taken

    original = Ledger(devices)
    take(original, earlier)
    twin = copy(original)

    assert (take(twin, later), twin.taken) == at_once(later)
    assert (take(original, other), original.taken) == at_once(other)


@given(st.lists(st.sampled_from(NAMES), max_size=8), st.sampled_from(NAMES))
def test_taking_then_releasing_is_identity_and_no_counter_is_negative(wanted, probe):
    ledger = Ledger(nested())
    for name in wanted:
        if ledger.admits(DeviceName(name)):
            ledger.take(DeviceName(name), "x")
    before = (
        allocatable(ledger, NAMES),
        [ledger.left(SourceName(s), MEMORY) for s in ("gpu", "gi-a", "gi-b")],
    )
    assert min(before[1]) >= 0

    if ledger.admits(DeviceName(probe)):
        ledger.take(DeviceName(probe), "x")
        ledger.release(DeviceName(probe))

    assert before == (
        allocatable(ledger, NAMES),
        [ledger.left(SourceName(s), MEMORY) for s in ("gpu", "gi-a", "gi-b")],
    )
