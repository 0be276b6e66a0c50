"""First fit on one node: the first device with room, several where none has it, and never a missed fit."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.frontends.classes.first_fit import ClassRequest, first_fit
from scheduler_core.frontends.classes.model import Use

DEVICES = ("a", "b", "c")
wants = st.lists(
    st.builds(
        ClassRequest,
        st.just(""),
        st.integers(1, 3),
        st.sets(st.sampled_from(DEVICES)).map(lambda names: tuple(sorted(names))),
    ),
    min_size=1,
    max_size=3,
).map(lambda found: [ClassRequest(f"class-{n}", one.quantity, one.devices) for n, one in enumerate(found)])
free = st.fixed_dictionaries({name: st.integers(0, 3) for name in DEVICES})


def splits(want):
    """Return every way to serve a request, as amounts of each device."""
    amounts = [range(want.quantity + 1) if name in want.devices else (0,) for name in DEVICES]
    return [one for one in product(*amounts) if sum(one) == want.quantity]


def can_be_served(asked, left):
    return any(
        all(sum(one[at] for one in chosen) <= left[name] for at, name in enumerate(DEVICES))
        for chosen in product(*map(splits, asked))
    )


@settings(deadline=None)
@given(wants, free)
def test_an_answer_is_found_exactly_where_there_is_one(asked, left):
    assert (first_fit(asked, left) is not None) is can_be_served(asked, left)


@settings(deadline=None)
@given(wants, free)
def test_every_request_gets_its_amount_of_its_devices_and_no_device_gives_more_than_it_has(asked, left):
    uses = first_fit(asked, left) or ()

    for one in asked if uses else ():
        mine = [use for use in uses if use.class_name == one.class_name]
        assert sum(use.quantity for use in mine) == one.quantity
        assert {use.device for use in mine} <= set(one.devices)
        assert len({use.device for use in mine}) == len(mine)
    for name in DEVICES:
        assert sum(use.quantity for use in uses if use.device == name) <= left[name]


def test_the_first_device_with_room_for_all_is_taken_before_several_are():
    assert first_fit([ClassRequest("c", 3, ("a", "b"))], {"a": 2, "b": 3}) == (Use("c", "b", 3),)


def test_a_request_is_spread_where_no_device_has_room_for_all():
    assert first_fit([ClassRequest("c", 4, ("a", "b"))], {"a": 2, "b": 3}) == (
        Use("c", "a", 2),
        Use("c", "b", 2),
    )


def test_a_broad_request_leaves_the_only_device_of_a_narrow_one_of_the_same_pod():
    asked = [ClassRequest("broad", 1, ("a", "b")), ClassRequest("narrow", 1, ("a",))]

    assert first_fit(asked, {"a": 1, "b": 1}) == (Use("broad", "b", 1), Use("narrow", "a", 1))


def test_amounts_in_the_thousands_are_as_quick_as_small_ones():
    asked = [ClassRequest("one", 10**12, ("a", "b")), ClassRequest("other", 10**12, ("b",))]

    uses = first_fit(asked, {"a": 10**12, "b": 10**12})

    assert uses == (Use("one", "a", 10**12), Use("other", "b", 10**12))
