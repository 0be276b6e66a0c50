"""Match values: no value is left out on which an answer settles, no device after which an answer follows."""

from random import Random

from hypothesis import given, settings
from searched_nodes import SEEDS, SETTINGS, settled, twin, walk

from scheduler_core.base.effort import EffortExceeded
from scheduler_core.engine.search.search_rules import MatchRule
from scheduler_core.tables.bits import positions

MANY = settings(SETTINGS, max_examples=300)
FEW = 500  # devices that are taken to look for answers


def ends(found, assignment, request):
    """The rule states in which answers end, as far as few steps find them."""
    states, tried = set(), twin(assignment)
    try:
        with found.tried.within(FEW):
            states.update(tried.rules for _ in found.answers(tried, request))
    except EffortExceeded:
        pass
    return states


@MANY
@given(SEEDS)
def test_a_value_on_which_an_answer_settles_is_possible(seed):
    found, chance = settled(seed), Random(seed)
    if found is None:
        return
    assignment = found.assignment()
    first = walk(found, chance, assignment, chance.randint(0, 2))
    values = found.prepared.values

    for states in ends(found, assignment, first):
        for number, rule in enumerate(found.rules):
            if isinstance(rule, MatchRule) and states[number] != rule.start:
                possible = values.possible(assignment, number, rule, first)
                assert not states[number] & ~possible


@MANY
@given(SEEDS)
def test_a_way_that_an_answer_follows_uses_devices_with_possible_values(seed):
    found, chance = settled(seed), Random(seed)
    if found is None:
        return
    assignment = found.assignment()
    first = walk(found, chance, assignment, chance.randint(0, 1))
    values, tried = found.prepared.values, twin(assignment)
    if first == len(found.space.requests):
        return

    try:
        with found.tried.within(FEW):
            for picked in found.answers(tried, first):
                option = found.space.requests[first][picked.options[0]]
                devices = values.devices(assignment, option, found.rules, first)
                assert all(devices >> one & 1 for one in picked.devices[0])
    except EffortExceeded:
        pass


@MANY
@given(SEEDS)
def test_a_device_that_leaves_too_little_has_no_answer_after_it(seed):
    found, chance = settled(seed), Random(seed)
    if found is None:
        return
    assignment = found.assignment()
    first = walk(found, chance, assignment, chance.randint(0, 1))
    if first == len(found.space.requests):
        return

    for option in found.space.requests[first]:
        if option.count != 1 or option.alternative.admin_access:
            continue
        for device in positions(assignment.available(option)):
            if not found.prepared.values.leaves_enough(assignment, option, found.rules, device, first + 1):
                after = twin(assignment)
                after.take(option, device)
                assert not found.has_answer(after, first + 1)
