"""Match values: no value is left out on which an answer settles, no device after which an answer follows."""

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from searched_nodes import SEEDS, SETTINGS, questioned, settled, twin, walk

from scheduler_core.base.effort import EffortExceeded
from scheduler_core.engine.search.search_rules import MatchRule
from scheduler_core.model.claim import MatchAttribute, Request
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import DRIVER, claim, device, pool, request
from scheduler_core.tables.bits import positions

MANY = settings(SETTINGS, max_examples=300)
SIDE = QualifiedName(f"{DRIVER}/side")
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
        for one in positions(assignment.available(option)):
            if not found.prepared.values.leaves_enough(assignment, option, found.rules, one, first + 1):
                after = twin(assignment)
                after.take(option, one)
                assert not found.has_answer(after, first + 1)


def test_an_alternative_that_the_rule_does_not_bind_leaves_every_value_possible():
    red, blue = (f"device.attributes['{DRIVER}'].side == '{side}'" for side in ("red", "blue"))
    published = pool(*(device(side, attributes={"side": side}) for side in ("red", "blue")))
    either = Request(
        name="b",
        alternatives=tuple(
            replace(request("b", text).alternatives[0], name=f"b/{letter}")
            for letter, text in (("x", blue), ("y", red))
        ),
    )
    wanted = claim(request("a", blue), either, constraints=[MatchAttribute(SIDE, ("a", "b/x"))])
    found = questioned(published, wanted)

    possible = found.prepared.values.possible(found.assignment(), 0, found.rules[0], 0)

    assert possible == found.rules[0].values.of_any(0b10)
    assert found.has_answer(found.assignment())


def test_a_nic_takes_nothing_of_the_gpu_that_has_to_serve_the_rest():
    said = {"side": "left"}
    published = pool(
        device("gpu", attributes=said, m=1),
        device("part", sources=["gpu"], attributes=said, m=1),
        device("nic", attributes=said, link=1),
    )
    link, memory = (f"'{name}' in device.capacity['{DRIVER}']" for name in ("link", "m"))
    wanted = claim(request("a", link), request("b", memory), constraints=[MatchAttribute(SIDE)])
    found = questioned(published, wanted)
    assignment, ((option,), _) = found.assignment(), found.space.requests
    (nic,) = positions(option.chosen)

    assert found.prepared.values.leaves_enough(assignment, option, found.rules, nic, 1)
