"""The claim API beyond plain requests, rule by rule, in the plain search."""

import pytest

from scheduler_core.base.errors import InvalidClaim, SelectorError
from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_claim
from scheduler_core.dialects.layout import Layout
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef, DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.consumption import consumed
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.result import Allocation, Cause

DRIVER = "d.example.com"
NODE = Node("n")


def pool_of(*devices, **spec):
    base = {"driver": DRIVER, "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n"}
    (pool,) = v1.pools(
        [v1.decode_slice({"metadata": {"name": "s"}, "spec": base | spec | {"devices": list(devices)}})]
    )
    assert not pool.rejected
    return pool


def claim_of(*requests, name="c", **devices):
    body = {"devices": {"requests": list(requests)} | devices}
    return decode_claim({"metadata": {"name": name, "namespace": "default"}, "spec": body})


def exactly(name="r", **more):
    return {"name": name, "exactly": {"deviceClassName": "any"} | more}


def ask(pool, *claims, held=(), features=None):
    cluster = Cluster(
        pools=(pool,),
        classes={"any": DeviceClass(name="any")},
        allocated=tuple(held),
        features=features or Features(),
    )
    return allocate(claims, cluster, NODE, lambda: "share")


def names(answer, name="c"):
    assert isinstance(answer, Allocation), answer
    return [result.device.device for result in answer.results[ClaimRef("default", name)]]


def holder(*devices, name="other", **more):
    results = tuple(AllocatedDevice("r", DeviceId(DRIVER, "p", device), **more) for device in devices)
    return AllocatedClaim(ref=ClaimRef("default", name), results=results)


TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    "toleration",
    [
        {"key": "k", "value": "v"},
        {"key": "k", "operator": "Exists"},
        {"operator": "Exists", "effect": "NoSchedule"},
    ],
)
def test_a_tainted_device_needs_a_toleration(toleration):
    pool = pool_of({"name": "a", "taints": [TAINT]})

    refused = ask(pool, claim_of(exactly()))
    allowed = ask(pool, claim_of(exactly(tolerations=[toleration])))

    assert refused.cause is Cause.INSUFFICIENT
    assert "taint k=v:NoSchedule is not tolerated" in refused.reasons[0].detail
    assert names(allowed) == ["a"]


def test_a_taint_without_effect_bars_nobody_and_a_tainted_device_spoils_all():
    harmless = pool_of({"name": "a", "taints": [TAINT | {"effect": "None"}]})
    tainted = pool_of({"name": "a"}, {"name": "b", "taints": [TAINT]})

    assert names(ask(harmless, claim_of(exactly()))) == ["a"]
    assert not isinstance(ask(tainted, claim_of(exactly(allocationMode="All"))), Allocation)


def test_admin_access_looks_at_devices_in_use_and_holds_nothing():
    pool = pool_of({"name": "a"})
    looking = claim_of(exactly(adminAccess=True), name="admin")

    assert names(ask(pool, looking, held=[holder("a")]), "admin") == ["a"]
    assert names(ask(pool, claim_of(exactly()), held=[holder("a", admin_access=True)])) == ["a"]


def test_admin_access_meets_no_device_twice_in_one_claim():
    pool = pool_of({"name": "a"})
    twice = claim_of(exactly("r"), exactly("s", adminAccess=True))

    assert not isinstance(ask(pool, twice), Allocation)


SHARED = {"name": "a", "allowMultipleAllocations": True, "capacity": {"memory": {"value": "10Gi"}}}


def part(amount, name="r"):
    return exactly(name, capacity={"requests": {"memory": amount}})


def test_a_shareable_device_serves_claims_until_its_capacity_is_gone():
    pool = pool_of(SHARED)
    held = holder("a", share_id="s1", consumed={"memory": Quantity.parse("6Gi")})

    fits = ask(pool, claim_of(part("4Gi")), held=[held])
    exceeds = ask(pool, claim_of(part("5Gi")), held=[held])

    (result,) = fits.results[ClaimRef("default", "c")]
    assert (result.share_id, {k: str(v) for k, v in result.consumed.items()}) == ("share", {"memory": "4Gi"})
    lacking = "a: it has too little memory left: 5Gi needed, 4Gi of 10Gi left; held by default/other"
    assert lacking in exceeds.reasons[0].detail


def test_a_capacity_request_filters_devices_that_are_given_whole():
    pool = pool_of(
        {"name": "small", "capacity": {"memory": {"value": "4Gi"}}},
        {"name": "large", "capacity": {"memory": {"value": "8Gi"}}},
        {"name": "none"},
    )

    assert names(ask(pool, claim_of(part("5Gi")))) == ["large"]


def amount(text):
    return None if text is None else Quantity.parse(text)


@pytest.mark.parametrize(
    ("wanted", "policy", "expected"),
    [
        (None, None, "10"),
        (None, RequestPolicy(default=Quantity.of(2)), "2"),
        ("3", None, "3"),
        ("3", RequestPolicy(values=(Quantity.of(2), Quantity.of(4))), "4"),
        ("5", RequestPolicy(values=(Quantity.of(2), Quantity.of(4))), None),
        ("1", RequestPolicy(least=Quantity.of(2), most=Quantity.of(8), step=Quantity.of(2)), "2"),
        ("5", RequestPolicy(least=Quantity.of(2), most=Quantity.of(8), step=Quantity.of(2)), "6"),
        ("9", RequestPolicy(least=Quantity.of(2), most=Quantity.of(8)), None),
    ],
)
def test_amounts_are_rounded_up_to_what_the_policy_allows(wanted, policy, expected):
    assert consumed(amount(wanted), Quantity.of(10), policy) == amount(expected)


def test_list_attributes_match_on_a_common_value_and_are_distinct_without_one():
    pool = pool_of(
        {"name": "a", "attributes": {"numa": {"ints": [0, 1]}}},
        {"name": "b", "attributes": {"numa": {"int": 1}}},
        {"name": "c", "attributes": {"numa": {"ints": [2]}}},
    )
    two = exactly(count=2)

    match = ask(pool, claim_of(two, constraints=[{"matchAttribute": f"{DRIVER}/numa"}]))
    distinct = ask(pool, claim_of(two, constraints=[{"distinctAttribute": f"{DRIVER}/numa"}]))

    assert names(match) == ["a", "b"]
    assert names(distinct) == ["a", "c"]


def test_class_configuration_comes_first_and_names_requests_only_where_it_must():
    pool = pool_of({"name": "a"}, {"name": "b"})
    opaque = {"driver": DRIVER, "parameters": {"k": 1}}
    asked = claim_of(
        exactly("r"), exactly("s"), config=[{"requests": ["s"], "opaque": opaque}, {"opaque": opaque}]
    )

    answer = ask(pool, asked)

    configs = answer.configs[ClaimRef("default", "c")]
    assert [(config.from_class, config.requests) for config in configs] == [(False, ("s",)), (False, ())]


@pytest.mark.parametrize(
    ("request_", "feature"),
    [
        (exactly(adminAccess=True), "DRAAdminAccess"),
        (part("1"), "DRAConsumableCapacity"),
        ({"name": "r", "firstAvailable": [{"name": "x", "deviceClassName": "any"}]}, "DRAPrioritizedList"),
    ],
)
def test_a_request_that_needs_a_feature_that_is_off_is_refused_by_name(request_, feature):
    with pytest.raises(InvalidClaim, match=f"needs the feature {feature}, which is off"):
        ask(pool_of(SHARED), claim_of(request_), features=Features.only(()))


def test_a_device_that_needs_a_feature_that_is_off_is_left_out():
    counters = [{"name": "set", "counters": {"units": {"value": "1"}}}]
    use = [{"counterSet": "set", "counters": {"units": {"value": "1"}}}]
    where = {"driver": DRIVER, "pool": {"name": "p", "resourceSliceCount": 2}, "nodeName": "n"}
    devices = [{"name": "a", "consumesCounters": use}, {"name": "b"}]
    (pool,) = v1.pools(
        v1.decode_slice({"metadata": {"name": name}, "spec": where | content})
        for name, content in (("s0", {"sharedCounters": counters}), ("s1", {"devices": devices}))
    )

    assert names(ask(pool, claim_of(exactly()))) == ["a"]
    assert names(ask(pool, claim_of(exactly()), features=Features.only(()))) == ["b"]


def test_unknown_features_are_refused():
    with pytest.raises(ValueError, match=r"unknown features \['DRANope'\]"):
        Features.only(["DRANope"])


def test_every_field_of_a_v1_device_comes_back():
    device = {
        "name": "a",
        "attributes": {"list": {"strings": ["x", "y"]}, "v": {"version": "1.2.3"}},
        "capacity": {
            "memory": {
                "value": "10Gi",
                "requestPolicy": {
                    "default": "1Gi",
                    "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"},
                },
            }
        },
        "consumesCounters": [
            {"counterSet": "set", "counters": {"units": {"value": "1"}}, "compatibilityGroups": ["g", "h"]}
        ],
        "taints": [TAINT | {"timeAdded": "2026-01-01T00:00:00Z"}],
        "bindsToNode": True,
        "bindingConditions": ["Ready"],
        "bindingFailureConditions": ["Failed"],
        "allowMultipleAllocations": True,
    }
    counters = [{"name": "set", "counters": {"units": {"value": "1"}}}]

    (written,) = v1.encode_pool(pool_of(device, sharedCounters=counters), Layout.TOGETHER)

    assert written["spec"]["devices"] == [device]


@pytest.mark.parametrize(
    ("expression", "failure"),
    [
        ("device.nope", "does not compile: "),
        ("1/0 == 1", f"fails on device a of pool {DRIVER}/p: division by zero"),
    ],
)
def test_a_selector_that_fails_names_the_object_and_field_that_hold_it(expression, failure):
    asked = claim_of(
        exactly(selectors=[{"cel": {"expression": "true"}}, {"cel": {"expression": expression}}])
    )

    with pytest.raises(SelectorError) as of_claim:
        ask(pool_of({"name": "a"}), asked)
    cluster = Cluster(
        pools=(pool_of({"name": "a"}),), classes={"any": DeviceClass(name="any", selectors=(expression,))}
    )
    with pytest.raises(SelectorError) as of_class:
        allocate([claim_of(exactly())], cluster, NODE)

    place = "ResourceClaim default/c: request r selectors[1].cel.expression"
    assert str(of_claim.value).startswith(f"{place}: {expression!r}: {failure}")
    assert of_class.value.place == "DeviceClass any: spec.selectors[0].cel.expression"
