"""Claim signatures: claims that ask for the same have equal signatures, whatever they are called."""

from dataclasses import replace
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.errors import InvalidClaim
from scheduler_core.base.features import ALL
from scheduler_core.base.limits import RESULTS
from scheduler_core.engine.claims.claim_signature import (
    content,
    signature_of,
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
from scheduler_core.state.testing import ANY, claim, request

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
    assert (signature.gap is None) is counted
    if not counted:
        assert signature.choices == ()
        return

    def devices(number, options):
        pairs = zip(signature.requests, options, strict=True)
        return sum(one[option].count for one, option in pairs if one[option].claim == number)

    expected = [
        options
        for options in product(*(range(len(request)) for request in signature.requests))
        if all(devices(number, options) <= RESULTS for number in range(len(mine)))
    ]
    assert [choice.options for choice in signature.choices] == expected
    for choice in signature.choices:
        assert len(choice.devices) == sum(choice.counts)


@given(claims())
def test_an_alternative_names_the_filter_and_the_constraints_of_its_request(mine):
    signature = signature_of(mine, CLASSES)
    rules = [rule for one in mine for rule in one.constraints]
    wanted = [(one, asked, option) for one in mine for asked in one.requests for option in asked.alternatives]
    found = [alternative for options in signature.requests for alternative in options]

    assert list(signature.rules) == rules
    for alternative, (one, asked, option) in zip(found, wanted, strict=True):
        texts = [selector.text for selector in signature.filters[alternative.filter].selectors]
        assert texts == list(option.selectors)
        mine_rules = [rule for rule in one.constraints if not rule.requests or asked.name in rule.requests]
        assert [rules[rule] for rule in alternative.rules] == mine_rules


@given(claims())
def test_a_claim_that_needs_a_feature_that_is_off_is_refused(mine):
    options = [option for one in mine for request in one.requests for option in request.alternatives]
    has_choice = any(len(request.alternatives) > 1 for one in mine for request in one.requests)

    def is_refused(feature):
        try:
            signature_of(mine, CLASSES, replace(ALL, **{feature: False}))
        except InvalidClaim:
            return True
        return False

    assert is_refused("DRAAdminAccess") is any(one.admin_access for one in options)
    assert is_refused("DRAPrioritizedList") is has_choice
    assert not is_refused("DRAConsumableCapacity")


def test_a_constraint_that_compares_scopes_is_named_as_what_counts_cannot_express():
    scoped = claim(request("r"), constraints=[PreferScope((BOARD,))])

    assert "PreferScope" in signature_of([scoped], CLASSES).gap
