"""Rules of the search: what they admit is what the plain rules admit, and shrinks while devices join."""

from hypothesis import given, settings
from hypothesis import strategies as st
from random_components import VALUES
from searched_nodes import numbered

from scheduler_core.engine.search.attribute_values import attribute_values, members, whole
from scheduler_core.engine.search.search_rules import DistinctRule, FixedRule, MatchRule, SameScopeRule
from scheduler_core.model.claim import SameScope
from scheduler_core.model.device import QualifiedName
from scheduler_core.rules.constraints import Distinct, Match
from scheduler_core.rules.scopes import SameSets
from scheduler_core.state.testing import DRIVER, device, pool
from scheduler_core.tables.bits import mask_of, positions

X = QualifiedName(f"{DRIVER}/x")
MANY = settings(max_examples=200)
OVERLAPPING = st.sampled_from([("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c")])
POOLS = st.lists(st.none() | st.sampled_from(VALUES) | OVERLAPPING, min_size=1, max_size=6).map(
    lambda values: pool(
        *(device(f"d{n}", attributes={} if one is None else {"x": one}) for n, one in enumerate(values))
    )
)
GROUPS = (("a",), ("b",))


def values_of(published, keys_of):
    """The values of x, and the devices by number."""
    components, devices, to_devices = numbered(published)
    return attribute_values(components, X, to_devices, keys_of), devices


def join_until_none_is_left(rule, plain, devices, data):
    """Let devices join, one at a time, and compare the rules; ``plain`` has a rule per group."""
    state, refused, left = rule.start, [0] * len(plain), (1 << len(devices)) - 1
    while True:
        seat = data.draw(st.integers(0, len(plain) - 1))
        admitted = [rule.admitted(state, number) & left for number in range(len(plain))]
        for number, one in enumerate(plain):
            expected = mask_of(n for n, each in enumerate(devices) if left >> n & 1 and one.admits(each))
            assert admitted[number] == expected
            assert not admitted[number] & refused[number], "what was refused stays refused"
            refused[number] |= left & ~admitted[number]
        if not admitted[seat]:
            return state
        joining = data.draw(st.sampled_from(list(positions(admitted[seat]))))
        state = rule.joined(state, seat, joining)
        plain[seat].add(devices[joining])
        left &= ~(1 << joining)


@MANY
@given(POOLS, st.booleans(), st.data())
def test_a_match_admits_what_the_plain_rule_admits(published, lists, data):
    values, devices = values_of(published, lambda value: members(value, lists=lists))

    join_until_none_is_left(MatchRule(values), [Match(X, lists=lists)], devices, data)


@MANY
@given(POOLS, st.booleans(), st.data())
def test_a_difference_admits_what_the_plain_rule_admits(published, lists, data):
    values, devices = values_of(published, lambda value: members(value, lists=lists))

    join_until_none_is_left(DistinctRule(values), [Distinct(X, lists=lists)], devices, data)


@MANY
@given(POOLS, st.tuples(*[st.none() | st.integers(0, 3)] * 2), st.sets(st.sampled_from(VALUES)), st.data())
def test_groups_in_one_set_of_scopes_admit_what_the_plain_rule_admits(published, sizes, reachable, data):
    values, devices = values_of(published, whole)
    scopes = {one.attributes[X] for one in devices if one.attributes.get(X) in reachable}
    within = mask_of(
        values.of[n].bit_length() - 1 for n, one in enumerate(devices) if one.attributes.get(X) in scopes
    )
    plain = SameSets(SameScope((X,), GROUPS), X, sizes, frozenset(scopes))
    rule = SameScopeRule(values, sizes, within)

    state = join_until_none_is_left(rule, [plain.seat("a"), plain.seat("b")], devices, data)

    assert rule.is_met(state) is plain.is_met()


@given(st.integers(0, 63), st.integers(0, 5))
def test_a_fixed_rule_admits_the_same_whatever_joins(devices, joining):
    rule = FixedRule(devices)

    assert rule.admitted(rule.joined(rule.start, 0, joining), 0) == devices
    assert rule.is_met(rule.start)
