"""A selector that fails is told with the object and field that hold it, whoever evaluates it."""

from __future__ import annotations

import pytest

from scheduler_core.base.errors import SelectorError
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT, best_fit
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import DeviceClass, DeviceRequest, MatchAttribute, Request
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.state.testing import DRIVER, NODE, claim, device, pool, request

POOL = pool(device("a", attributes={"colour": "red"}), device("b", attributes={"colour": "red"}))
SAME = MatchAttribute(qualified("colour", DRIVER))

NO_ENGINE = "plain search"
FAILURES = pytest.mark.parametrize(
    ("expression", "failure"),
    [
        ("device.nope", "does not compile"),
        ("1/0 == 1", f" of pool {POOL.id}: division by zero"),
        (f"device.attributes['{DRIVER}'].size == 1", f" of pool {POOL.id}: no such key"),
    ],
)
BY = pytest.mark.parametrize("policy", [NO_ENGINE, FIRST_FIT, best_fit()], ids=str)


def ask(policy, asked, **classes):
    found = {name: DeviceClass(name=name, selectors=selectors) for name, selectors in classes.items()}
    cluster = Cluster(pools=(POOL,), classes=found)
    if policy == NO_ENGINE:
        return allocate([asked], cluster, NODE)
    return Engine.of(cluster, policy).allocate_somewhere([asked], [NODE])


@BY
@FAILURES
@pytest.mark.parametrize("constraints", [(), (SAME,)], ids=["free", "bound"])
def test_a_claims_selector_is_told_by_request_and_index(policy, expression, failure, constraints):
    asked = claim(request("first"), request("r", "true", expression), constraints=constraints)

    with pytest.raises(SelectorError) as raised:
        ask(policy, asked, any=())

    place = "ResourceClaim default/claim: request r selectors[1].cel.expression"
    assert raised.value.place == place
    assert str(raised.value).startswith(f"{place}: ")
    assert failure in str(raised.value)


@BY
@FAILURES
def test_a_classes_selector_is_told_by_class_and_index(policy, expression, failure):
    with pytest.raises(SelectorError) as raised:
        ask(policy, claim(request("r")), any=("true", expression))

    assert raised.value.place == "DeviceClass any: spec.selectors[1].cel.expression"
    assert failure in str(raised.value)


@BY
def test_the_selector_of_an_alternative_is_told_with_the_alternative(policy):
    options = tuple(
        DeviceRequest(name=f"r/{name}", class_name="any", selectors=selectors)
        for name, selectors in (("big", ("false",)), ("odd", ("1/0 == 1",)))
    )

    with pytest.raises(SelectorError) as raised:
        ask(policy, claim(Request(name="r", alternatives=options)), any=())

    assert raised.value.place == "ResourceClaim default/claim: request r/odd selectors[0].cel.expression"
