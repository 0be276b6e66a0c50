"""Search spaces: the devices that requests may get, in listed order, as the plain search lists them."""

from hypothesis import given
from hypothesis import strategies as st
from searched_nodes import SEEDS, SETTINGS, questioned, searched

from scheduler_core.engine.search.search_rules import MatchRule
from scheduler_core.model.claim import MatchAttribute, PreferScope, SameScope
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.obstacles import ScopeReserved
from scheduler_core.search.candidates import offers
from scheduler_core.state.testing import DRIVER, claim, device, pool, request
from scheduler_core.tables.bits import mask_of, positions

RAIL, NUMA = (QualifiedName(f"{DRIVER}/{name}") for name in ("rail", "numa"))


@SETTINGS
@given(SEEDS)
def test_an_options_devices_are_the_candidates_of_the_plain_search_in_its_order(seed):
    found = searched(seed)

    for options, plain in zip(found.space.requests, found.problem.requests, strict=True):
        for option, alternative in zip(options, plain.alternatives, strict=True):
            candidates = list(alternative.candidates)
            listed = [found.place(device) for device in positions(option.candidates)]
            assert listed == [(one.offer.pool, one.offer.device.name) for one in candidates]
            for device_number, one in zip(positions(option.candidates), candidates, strict=True):
                is_barred = one.obstacle is not None and not isinstance(one.obstacle, ScopeReserved)
                assert bool(option.failed >> device_number & 1) is (one.error is not None)
                assert bool(option.chosen >> device_number & 1) is (one.error is None and not is_barred)


@SETTINGS
@given(SEEDS)
def test_the_devices_of_a_space_are_in_listed_order(seed):
    found = searched(seed)
    listed = [
        (one.pool, one.device.name)
        for one in offers(found.cluster.pools, found.node, found.situation.features)
    ]

    ranks = [listed.index(found.place(number)) for number in range(len(found.space.devices))]

    assert ranks == sorted(ranks)
    for component, mask in enumerate(found.space.masks):
        assert mask == mask_of(n for n, (number, _) in enumerate(found.space.devices) if number == component)


@SETTINGS
@given(SEEDS)
def test_a_twin_is_an_earlier_device_of_the_component_that_every_request_and_rule_takes_for_the_same(seed):
    found = searched(seed)
    matches = [rule.values for rule in found.space.rules if isinstance(rule, MatchRule)]

    for number, twins in enumerate(found.space.twins):
        for other in positions(twins):
            assert other < number
            assert found.space.devices[other][0] == found.space.devices[number][0]
            for option in (option for options in found.space.requests for option in options):
                assert option.candidates >> other & 1 == option.candidates >> number & 1
                assert option.chosen >> other & 1 == option.chosen >> number & 1
            for values in matches:
                assert values.of.get(other) == values.of.get(number)


@given(st.lists(st.sampled_from([(), ("a",), ("b",), ("c",), ("a", "c")]), max_size=3))
def test_a_rule_ends_with_the_last_request_that_it_binds(over):
    wanted = claim(*map(request, "abc"), constraints=[MatchAttribute(RAIL, names) for names in over])

    space = questioned(pool(device("d")), wanted).space

    assert space.last_request == tuple("abc".index(max(names or "c")) for names in over)


@given(st.lists(st.sampled_from([{}, {"rail": "r", "numa": 0}, {"numa": 0}]), min_size=1, max_size=4))
def test_the_scope_that_is_compared_is_the_first_one_that_all_candidates_have(attributes):
    published = pool(*(device(f"d{n}", attributes=each) for n, each in enumerate(attributes)))
    space = questioned(published, claim(request("a"), constraints=[SameScope((RAIL, NUMA), (("a",),))])).space

    scope = space.compared((RAIL, NUMA), (1 << len(attributes)) - 1)

    assert scope == (RAIL if all("rail" in each for each in attributes) else NUMA)


def test_a_preferred_scope_is_a_match_and_beyond_the_last_one_nothing_is_asked():
    published = pool(device("d", attributes={"rail": "r"}), device("e", attributes={"numa": 0}))
    space = questioned(published, claim(request("a"), constraints=[PreferScope((RAIL, NUMA))])).space

    rules = [space.prefer_rule(0, level) for level in range(3)]

    assert space.levels(0) == 2
    assert [rule and rule.admitted(rule.start, 0) for rule in rules] == [0b01, 0b10, None]
