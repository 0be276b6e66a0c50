"""Claim signatures: claims that ask for the same have equal signatures, whatever they are called."""

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.features import ALL
from scheduler_core.base.limits import RESULTS
from scheduler_core.engine.claims.claim_signature import (
    content,
    is_covered,
    relaxed,
    signature_of,
    without_constraints,
)
from scheduler_core.model.claim import (
    ClaimRef,
    DeviceRequest,
    DistinctAttribute,
    MatchAttribute,
    PreferScope,
    Request,
)
from scheduler_core.model.device import QualifiedName
from scheduler_core.state.testing import ANY, claim

CLASSES = {"any": ANY}
BOARD, KIND = (QualifiedName(f"driver.example.com/{name}") for name in ("board", "kind"))
OPTIONS = st.tuples(st.sampled_from([1, 1, 2, 20, None]), st.sampled_from(["true", "1 == 1"]), st.booleans())


@st.composite
def claims(draw):
    """Up to two claims with up to two requests each, of up to two alternatives."""
    found = []
    for number in range(draw(st.integers(1, 2))):
        requests = []
        for index in range(draw(st.integers(1, 2))):
            options = draw(st.lists(OPTIONS, min_size=1, max_size=2))
            names = [f"r{index}"] if len(options) == 1 else [f"r{index}/{letter}" for letter in "ab"]
            requests.append(
                Request(
                    name=f"r{index}",
                    alternatives=tuple(
                        DeviceRequest(
                            name=name, class_name="any", selectors=(text,), count=count, admin_access=is_admin
                        )
                        for name, (count, text, is_admin) in zip(names, options, strict=True)
                    ),
                )
            )
        rules = draw(
            st.lists(st.sampled_from([MatchAttribute(BOARD), DistinctAttribute(KIND, ("r0",))]), max_size=2)
        )
        found.append(claim(*requests, constraints=rules, name=f"c{number}"))
    return tuple(found)


@given(claims(), claims())
def test_claims_have_one_content_where_they_differ_in_their_names_only(mine, theirs):
    renamed = tuple(replace(one, ref=ClaimRef("elsewhere", f"x{n}")) for n, one in enumerate(mine))
    strip = [replace(one, ref=mine[0].ref) for one in mine]

    assert content(renamed) == content(mine)
    assert (content(mine) == content(theirs)) is (strip == [replace(one, ref=mine[0].ref) for one in theirs])


@given(claims())
def test_the_choices_are_all_combinations_of_alternatives_within_the_limit_the_preferred_first(mine):
    signature = signature_of(mine, CLASSES)
    counted = all(
        option.count is not None and not option.admin_access
        for one in mine
        for request in one.requests
        for option in request.alternatives
    )
    assert signature.is_regular is counted
    if not counted:
        assert signature.choices == ()
        return

    def devices(number, options):
        pairs = zip(signature.slots, options, strict=True)
        return sum(slot[option].count for slot, option in pairs if slot[option].claim == number)

    expected = [
        options
        for options in product(*(range(len(slot)) for slot in signature.slots))
        if all(devices(number, options) <= RESULTS for number in range(len(mine)))
    ]
    assert [choice.options for choice in signature.choices] == expected
    for choice in signature.choices:
        assert len(choice.devices) == sum(choice.counts)


@given(claims())
def test_an_alternative_names_the_filter_and_the_constraints_of_its_request(mine):
    signature = signature_of(mine, CLASSES)
    rules = [rule for one in mine for rule in one.constraints]
    options = [
        (one, request, option) for one in mine for request in one.requests for option in request.alternatives
    ]

    assert list(signature.rules) == rules
    for alternative, (one, request, option) in zip(
        [found for slot in signature.slots for found in slot], options, strict=True
    ):
        texts = [selector.text for selector in signature.filters[alternative.filter].selectors]
        assert texts == list(option.selectors)
        mine_rules = [rule for rule in one.constraints if not rule.requests or request.name in rule.requests]
        assert [rules[rule] for rule in alternative.rules] == mine_rules


@given(claims(), st.sets(st.integers(0, 3)))
def test_constraints_are_dropped_by_their_number_through_all_claims(mine, dropped):
    every = [rule for one in mine for rule in one.constraints]

    left = [rule for one in without_constraints(mine, dropped) for rule in one.constraints]

    assert left == [rule for number, rule in enumerate(every) if number not in dropped]
    assert not any(one.constraints for one in without_constraints(mine, None))


@given(claims())
def test_the_relaxed_claims_are_the_requests_that_plans_cover(mine):
    kept = [request for one in relaxed(mine) for request in one.requests]

    every = [request for one in mine for request in one.requests]
    assert kept == [
        request
        for request in every
        if all(option.count is not None and not option.admin_access for option in request.alternatives)
    ]


@given(claims())
def test_claims_that_need_a_feature_that_is_off_or_another_constraint_are_not_covered(mine):
    options = [option for one in mine for request in one.requests for option in request.alternatives]
    named = [request.name for one in mine for request in one.requests for _ in request.alternatives]
    scoped = replace(mine[0], constraints=(PreferScope(()),))

    assert is_covered(mine, ALL)
    assert is_covered(mine, replace(ALL, DRAAdminAccess=False)) is not any(
        one.admin_access for one in options
    )
    assert is_covered(mine, replace(ALL, DRAPrioritizedList=False)) is (
        [one.name for one in options] == named
    )
    assert not is_covered((scoped, *mine[1:]), ALL)
