"""Claims and classes: the three shapes, and one clear message for each mistake."""

import pytest

from scheduler_core.base.errors import InvalidClaim, InvalidClass
from scheduler_core.codec.claims import decode_allocated_claim, decode_claim, decode_class
from scheduler_core.model.claim import MatchAttribute


def claim_of(*requests, **devices):
    return {
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": "c", "uid": "u-1"},
        "spec": {"devices": {"requests": list(requests)} | devices},
    }


FLAT = {"name": "r", "deviceClassName": "gpu", "count": 2}
EXACTLY = {"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}


def test_the_flat_the_nested_and_the_doubled_shape_mean_the_same():
    flat = decode_claim(claim_of(FLAT))
    doubled = claim_of(EXACTLY)
    doubled["spec"] = {"spec": doubled["spec"]}

    assert decode_claim(claim_of(EXACTLY)) == flat == decode_claim(doubled)
    assert str(flat.ref) == "team/c"
    assert flat.requests[0].alternatives[0].count == 2


def test_alternatives_are_named_request_slash_alternative():
    request = {"name": "r", "firstAvailable": [{"name": "big", "deviceClassName": "gpu"}]}

    (alternative,) = decode_claim(claim_of(request)).requests[0].alternatives
    assert alternative.name == "r/big"


def test_a_constraint_keeps_its_requests():
    claim = decode_claim(claim_of(FLAT, constraints=[{"requests": ["r"], "matchAttribute": "a.com/b"}]))

    assert claim.constraints == (MatchAttribute("a.com/b", ("r",)),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (claim_of({"name": "r/s", "deviceClassName": "g"}), "requests[0].name: 'r/s': must be a DNS label"),
        (claim_of({"name": "r"}), "requests[0].deviceClassName: is required"),
        (claim_of({"name": "r", "firstAvailable": []}), "must have at least one alternative"),
        (claim_of(FLAT | {"count": 0}), "requests[0].count: 0: must be at least 1"),
        (claim_of(FLAT | {"count": "2"}), "requests[0].count: '2': must be an integer"),
        (claim_of(FLAT | {"allocationMode": "Some"}), "'Some': must be ExactCount or All"),
        (claim_of(FLAT, FLAT), "requests: 'r': names must be unique"),
        (claim_of(FLAT | {"derivedAttributes": [{}]}), "requests[0].derivedAttributes[0].name: is required"),
        (claim_of(FLAT | {"tolerations": [{"operator": "Is"}]}), "'Is': must be Equal or Exists"),
        (claim_of(FLAT | {"capacity": {"requests": {"memory": "1Zi"}}}), "capacity.requests.memory"),
        (claim_of(FLAT | {"colour": "red"}), "requests[0].colour: unknown field; known here: "),
        (claim_of(FLAT | {"selector": []}), "requests[0].selector: unknown field (did you mean selectors?)"),
        (claim_of(FLAT | {"selectors": [{"cel": {}}]}), "selectors[0].cel.expression: is required"),
        (claim_of(FLAT | {"selectors": ["x"]}), "selectors[0]: 'x': must be an object"),
        (
            claim_of(FLAT | {"selectors": [{"cel": {"expression": "x" * 10241}}]}),
            "has 10241 bytes; at most 10240 are allowed",
        ),
        (claim_of(*[{"name": f"r{i}", "deviceClassName": "g"} for i in range(33)]), "at most 32"),
        (claim_of(FLAT, constraints=[{"matchAttribute": "parentUUID"}]), "must be fully qualified"),
        (claim_of(FLAT, constraints=[{}]), "exactly one of matchAttribute and distinctAttribute"),
        (
            claim_of(FLAT, constraints=[{"requests": ["x"], "matchAttribute": "a.com/b"}]),
            "constraints[0].requests[0]: 'x': names no request of the claim",
        ),
        ({"kind": "ResourceClaim", "metadata": {"name": "c"}}, "spec: is required"),
        ({"kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": []}, "spec: []: must be an object"),
    ],
)
def test_a_mistake_in_a_claim_is_one_message_with_object_field_value_and_rule(content, message):
    with pytest.raises(InvalidClaim) as error:
        decode_claim(content)

    assert message in str(error.value)
    assert str(error.value).startswith("ResourceClaim ")


def test_a_mistake_in_a_class_blames_the_class():
    with pytest.raises(InvalidClass, match=r"DeviceClass gpu: spec.selectors\[0\].cel: is required"):
        decode_class({"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": [{}]}})


def test_a_claim_without_allocation_holds_nothing():
    assert decode_allocated_claim(claim_of(FLAT)) is None


def test_an_allocated_claim_keeps_results_of_every_driver_and_its_configs():
    content = claim_of(FLAT)
    content["status"] = {
        "allocation": {
            "devices": {
                "results": [{"request": "r", "driver": "d.com", "pool": "p", "device": "x"}],
                "config": [{"source": "FromClass", "opaque": {"driver": "d.com", "parameters": {"k": 1}}}],
            }
        }
    }

    held = decode_allocated_claim(content)

    assert str(held.results[0].device) == "d.com/p/x"
    assert held.configs[0].parameters == {"k": 1}
    assert held.uid == "u-1"
