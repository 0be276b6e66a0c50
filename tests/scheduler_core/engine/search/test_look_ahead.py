"""Looking ahead: where it says "no", trying everything finds nothing."""

from random import Random

from hypothesis import given, settings
from searched_nodes import SEEDS, SETTINGS, questioned, settled, size, twin, walk

from scheduler_core.state.testing import claim, device, pool, request

MANY = settings(SETTINGS, max_examples=300)


@MANY
@given(SEEDS)
def test_what_may_not_be_served_has_no_answer(seed):
    found, chance = settled(seed), Random(seed)
    if found is None:
        return
    assignment = found.assignment()
    first = walk(found, chance, assignment, chance.randint(0, 2))

    if not found.look_ahead().may_serve(assignment, first):
        assert not found.has_answer(assignment, first)


@MANY
@given(SEEDS)
def test_an_option_that_may_not_be_filled_has_no_way(seed):
    found, chance = settled(seed), Random(seed)
    if found is None:
        return
    assignment = found.assignment()
    first = walk(found, chance, assignment, chance.randint(0, 2))

    for number, option in enumerate(found.space.requests[first] if first < len(found.space.requests) else ()):
        devices = assignment.available(option)
        if option.count and not found.look_ahead().may_fill(assignment, option, devices, size(option)):
            ways = found.ways(twin(assignment), first)
            assert all(chosen != number for chosen, _ in ways)


def test_two_requests_that_one_device_alone_could_serve_are_refused_together():
    found = questioned(pool(device("d")), claim(request("a"), request("b")))

    assert not found.look_ahead().may_serve(found.assignment(), 0)
    assert found.look_ahead().may_serve(found.assignment(), 1)
