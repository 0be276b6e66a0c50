"""Partial assignments: an alternative could get next what ledgers and plain rules admit, nothing else."""

from copy import copy
from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from searched_nodes import SEEDS, SETTINGS, questioned, settled, size

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.claim import Request
from scheduler_core.rules.scopes import SameSets
from scheduler_core.state.testing import claim, device, pool, request
from scheduler_core.tables.bits import positions

FIELDS = ("states", "free", "consumed", "conflicts", "rules", "used", "watched")


def contents(assignment):
    return {name: copy(getattr(assignment, name)) for name in FIELDS}


class Plain:
    """The same devices given out in ledgers and plain rules."""

    def __init__(self, problem):
        self.problem = problem
        self.joined, self.watched = set(), set()

    def rules(self, alternative):
        found = [self.problem.rules[number] for number in alternative.rules]
        return [rule.seat(alternative.name) if isinstance(rule, SameSets) else rule for rule in found]

    def admits(self, claim, alternative, candidate):
        offer = candidate.offer
        key = (claim, offer.pool, offer.device.name)
        if candidate.obstacle or key in self.watched or (alternative.admin_access and key in self.joined):
            return False
        ledger = self.problem.ledgers[offer.pool]
        return all(rule.admits(offer.device) for rule in self.rules(alternative)) and (
            alternative.admin_access or ledger.admits(offer.device.name, candidate.share)
        )

    def available(self, request, option):
        claim, alternative = (
            self.problem.requests[request].claim,
            self.problem.requests[request].alternatives[option],
        )
        return {
            (one.offer.pool, one.offer.device.name)
            for one in alternative.candidates
            if self.admits(claim, alternative, one)
        }

    def take(self, request, option, place):
        claim = self.problem.requests[request].claim
        alternative = self.problem.requests[request].alternatives[option]
        (candidate,) = [
            one for one in alternative.candidates if (one.offer.pool, one.offer.device.name) == place
        ]
        if alternative.admin_access:
            self.watched.add((claim, *place))
        else:
            self.problem.ledgers[place[0]].take(place[1], alternative.name, candidate.share)
        self.joined.add((claim, *place))
        for rule in self.rules(alternative):
            rule.add(candidate.offer.device)


def turns(found):
    """Every device that the requests want, with its request and option, by the first alternatives."""
    for number, options in enumerate(found.space.requests):
        for _ in range(size(options[0])):
            yield number, 0


@SETTINGS
@given(SEEDS)
def test_what_is_available_is_what_ledgers_and_rules_admit_whatever_was_given_out(seed):
    found, chance = settled(seed), Random(seed)
    if found is None:
        return
    assignment, plain = found.assignment(), Plain(found.problem)

    for number, option in turns(found):
        for other, options in enumerate(found.space.requests):
            for index, one in enumerate(options):
                available = {found.place(device) for device in positions(assignment.available(one))}
                assert available == plain.available(other, index)
        free = list(positions(assignment.available(found.space.requests[number][option])))
        if not free:
            return
        device = chance.choice(free)
        assignment.take(found.space.requests[number][option], device)
        plain.take(number, option, found.place(device))


@SETTINGS
@given(SEEDS)
def test_giving_back_what_was_taken_leaves_everything_as_it_was(seed):
    found, chance = settled(seed), Random(seed)
    if found is None:
        return
    assignment, history = found.assignment(), []

    for number, option in turns(found):
        free = list(positions(assignment.available(found.space.requests[number][option])))
        if free:
            before = contents(assignment)
            device = chance.choice(free)
            history.append((before, assignment.take(found.space.requests[number][option], device)))

    for contents_before, change in reversed(history):
        assignment.give_back(change)
        assert contents(assignment) == contents_before


@given(st.lists(st.integers(0, 1), min_size=2, max_size=4), st.integers(0, 2))
def test_shares_of_one_device_are_given_back_one_by_one(devices, amount):
    links = pool(device("left", bw=8), device("right", bw=8))
    links = replace(links, devices=tuple(replace(one, is_shareable=True) for one in links.devices))
    wanted = claim(*(share(f"r{number}", amount) for number in range(len(devices))))
    found = questioned(links, wanted)
    assignment, history = found.assignment(), []

    for options, number in zip(found.space.requests, devices, strict=True):
        before = contents(assignment)
        history.append((before, assignment.take(options[0], number)))
        assert assignment.consumed[number][1] >= amount * 10**9

    for contents_before, change in reversed(history):
        assignment.give_back(change)
        assert contents(assignment) == contents_before


def share(name, amount):
    """A request for one device that gives a share of its bandwidth."""
    (option,) = request(name).alternatives
    return Request(name=name, alternatives=(replace(option, capacity={"bw": Quantity.of(amount)}),))
