"""What claims and slices of Kubernetes 1.37 and 1.38 have beyond older ones, by search and by engine."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.base.errors import AmountError, InvalidClaim, SelectorError
from scheduler_core.base.features import Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.codec import v1
from scheduler_core.codec.allocations import allocation_result
from scheduler_core.codec.claims import decode_claim
from scheduler_core.codec.documents import decode_node
from scheduler_core.dialects.layout import Layout
from scheduler_core.engine.engine import Engine
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import ClaimRef, DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.consumption import NotRepresentable, consumed
from scheduler_core.model.nodes import Node
from scheduler_core.model.policy import RequestPolicy
from scheduler_core.model.result import Allocation, Cause, Unallocatable

DRIVER = "d.example.com"
REF = ClaimRef("team", "c")
SKIPS = "DRAOptionalNodeOperations"
NODE = Node("n", {}, frozenset({SKIPS}))
BOTH = pytest.mark.parametrize("by", ["plain", "engine"])


def pool_of(*devices, **spec):
    base = {"driver": DRIVER, "pool": {"name": "p", "resourceSliceCount": 1}, "nodeName": "n"}
    (pool,) = v1.pools(
        [v1.decode_slice({"metadata": {"name": "s"}, "spec": base | spec | {"devices": list(devices)}})]
    )
    assert not pool.rejected
    return pool


def claim_of(*requests, **devices):
    body = {"devices": {"requests": list(requests)} | devices}
    return decode_claim({"metadata": {"name": REF.name, "namespace": REF.namespace}, "spec": body})


def exactly(name="r", **more):
    return {"name": name, "exactly": {"deviceClassName": "any"} | more}


def ask(by, pool, claim, node=NODE, **gates):
    cluster = Cluster(pools=(pool,), classes={"any": DeviceClass(name="any")}, features=Features(**gates))
    if by == "plain":
        return allocate([claim], cluster, node, lambda: "share")
    return Engine.of(cluster).allocate([claim], node)


def names(answer):
    assert isinstance(answer, Allocation), answer
    return [result.device.device for result in answer.results[REF]]


def part(amount, name="r", key="memory"):
    return exactly(name, capacity={"requests": {key: amount}})


def shared(name, value="64", **policy):
    span = {"default": "1", "validRange": policy}
    return {
        "name": name,
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": value, "requestPolicy": span}},
    }


@BOTH
@pytest.mark.parametrize(
    ("amount", "reason"),
    [
        ("9223372036854775808", "is not a 64-bit number of"),
        ("18446744073709551616", "is not a 64-bit number of"),
        ("9300000000000001", "is not a 64-bit number of thousandths"),
        ("100u", "is not a 64-bit number of thousandths"),
    ],
)
def test_an_amount_that_kubernetes_cannot_round_fails_the_claim_although_another_device_would_do(
    by, amount, reason
):
    plain = {"name": "plain", "capacity": {"memory": {"value": "9223372036854775809"}}}
    pool = pool_of(shared("steps", min="0", max="64", step="1"), plain | {"allowMultipleAllocations": True})

    with pytest.raises(AmountError) as caught:
        ask(by, pool, claim_of(part(amount)))

    place = "ResourceClaim team/c: request r capacity.requests: memory="
    assert str(caught.value).startswith(place)
    assert f"fails for device steps of pool {DRIVER}/p: " in str(caught.value)
    assert reason in str(caught.value)


@BOTH
def test_an_amount_beyond_the_device_is_refused_without_an_error_where_nothing_is_rounded(by):
    answer = ask(by, pool_of(shared("a", min="1")), claim_of(part("18446744073709551616")))

    assert isinstance(answer, Unallocatable)


@BOTH
def test_a_capacity_is_not_requested_with_the_driver_s_domain_and_without_it(by):
    requests = exactly(capacity={"requests": {"memory": "1", f"{DRIVER}/memory": "2"}})

    with pytest.raises(AmountError, match=r"the capacity is requested as memory too"):
        ask(by, pool_of({"name": "a", "capacity": {"memory": {"value": "4"}}}), claim_of(requests))


@BOTH
def test_a_capacity_is_requested_with_or_without_the_driver_s_domain(by):
    pool = pool_of({"name": "a", "capacity": {"memory": {"value": "4"}}})

    assert names(ask(by, pool, claim_of(part("4", key=f"{DRIVER}/memory")))) == ["a"]
    assert isinstance(ask(by, pool, claim_of(part("4", key="other.example.com/memory"))), Unallocatable)


@pytest.mark.parametrize("key", ["a/b/memory", "/memory", "memory/", "1x", "x y", "A.example.com/memory", ""])
def test_the_name_of_a_requested_capacity_is_an_identifier_with_at_most_one_domain(key):
    with pytest.raises(InvalidClaim, match=r"capacity\.requests"):
        claim_of(part("1", key=key))


@BOTH
@pytest.mark.parametrize(("fractions", "amount"), [(True, "300m"), (False, "1")])
def test_servers_before_1_37_round_fractions_up_to_whole_steps(by, fractions, amount):
    pool = pool_of(shared("a", value="2", min="200m", max="2", step="100m"))

    answer = ask(by, pool, claim_of(part("210m")), DRAFractionalCapacityRange=fractions)

    (result,) = answer.results[REF]
    assert str(result.consumed["memory"]) == amount


milli = st.integers(0, 10**6).map(lambda amount: Quantity(amount * 10**6))
steps = st.integers(1, 10**5).map(lambda amount: Quantity(amount * 10**6))


@given(milli, milli, steps)
def test_an_amount_is_rounded_to_the_least_step_that_holds_it(wanted, least, step):
    found = consumed(wanted, Quantity(0), RequestPolicy(least=least, step=step))

    count = max(0, -(-(Fraction(wanted.nano) - least.nano) // step.nano))
    assert found is not None
    assert found.nano == least.nano + count * step.nano


@given(st.integers(1, 2**64), st.integers(0, 2**64), st.integers(1, 2**63 - 1), st.booleans())
def test_no_amount_is_rounded_beyond_64_bits(wanted, least, step, fractions):
    policy = RequestPolicy(least=Quantity.of(least), step=Quantity.of(step))
    try:
        found = consumed(Quantity.of(wanted), Quantity(0), policy, fractions=fractions)
    except NotRepresentable:
        exact = least + max(0, -(-(wanted - least) // step)) * step
        assert exact * (1000 if fractions else 1) >= 2**63
    else:
        assert found is not None
        assert found == policy.least or found.whole < 2**63


GROUPED = {
    "name": "grouped",
    "consumesCounters": [
        {"counterSet": "set", "counters": {"units": {"value": "1"}}, "compatibilityGroups": ["x"]}
    ],
}
COUNTERS = [{"name": "set", "counters": {"units": {"value": "4"}}}]


@BOTH
@pytest.mark.parametrize("mode", [{}, {"allocationMode": "All"}])
def test_a_pool_with_groups_is_incomplete_to_a_scheduler_without_their_gate(by, mode):
    pool = pool_of(GROUPED, {"name": "other"}, sharedCounters=COUNTERS)

    answer = ask(by, pool, claim_of(exactly(**mode)), DRADeviceCompatibilityGroups=False)

    assert isinstance(answer, Unallocatable)
    assert answer.cause is Cause.POOL_INCOMPLETE


@BOTH
def test_what_optional_node_operations_skip_is_copied_into_the_result(by):
    pool = pool_of({"name": "a"}, skipNodeOperations=["NodePrepareResources", "NodeUnprepareResources"])

    answer = ask(by, pool, claim_of(exactly()))

    (result,) = allocation_result(answer, REF)["devices"]["results"]
    assert result["skipNodeOperations"] == ["NodePrepareResources", "NodeUnprepareResources"]
    (written,) = v1.encode_pool(pool, Layout.TOGETHER)
    assert written["spec"]["skipNodeOperations"] == result["skipNodeOperations"]


@BOTH
@pytest.mark.parametrize("mode", [{}, {"allocationMode": "All"}])
@pytest.mark.parametrize(
    ("node", "gates", "reason"),
    [
        (Node("n"), {}, "it skips operations of the node: n does not declare the feature " + SKIPS),
        (NODE, {SKIPS: False}, f"it skips operations of the node: the feature {SKIPS} is off"),
    ],
)
def test_a_kubelet_that_cannot_skip_operations_gets_no_device_that_does_without_them(
    by, mode, node, gates, reason
):
    answer = ask(
        by, pool_of({"name": "a"}, skipNodeOperations=["*"]), claim_of(exactly(**mode)), node, **gates
    )

    assert isinstance(answer, Unallocatable)
    assert reason in str(answer.findings.requests)


def test_a_node_declares_its_features_in_its_status():
    node = decode_node({"metadata": {"name": "n"}, "status": {"declaredFeatures": [SKIPS, "Other"]}})

    assert node.declared_features == {SKIPS, "Other"}
    assert decode_node({"metadata": {"name": "n"}, "status": {}}).declared_features == frozenset()


def derived(name, expression, attribute="derived/key", **more):
    return exactly(name, derivedAttributes=[{"name": attribute, "expression": expression}], **more)


def device(name, **attributes):
    return {"name": name, "attributes": {key: {"int": value} for key, value in attributes.items()}}


MATCH = [{"matchAttribute": "derived/key"}]
NUMA = f'device.attributes["{DRIVER}"].numa'


@BOTH
def test_constraints_compare_what_each_request_derives_of_a_device(by):
    pool = pool_of(device("a", numa=0), device("b", numa=3), device("c", numa=2))
    requests = (derived("left", f"{NUMA} / 2"), derived("right", f"{NUMA} - 1"))

    assert names(ask(by, pool, claim_of(*requests, constraints=MATCH))) == ["b", "c"]


@BOTH
def test_a_derived_attribute_stands_in_for_the_device_s_own_of_that_name(by):
    pool = pool_of(device("a", numa=0), device("b", numa=1))
    name = f"{DRIVER}/numa"
    asked = claim_of(derived("r", "1", name), exactly("s"), constraints=[{"matchAttribute": name}])

    assert names(ask(by, pool, asked)) == ["a", "b"]


@BOTH
@pytest.mark.parametrize(
    ("expression", "fits"),
    [
        ("[1, 2]", True),
        ('"x"', True),
        ("true", True),
        ('semver("1.2.3")', True),
        ("[]", False),
        ("[1][0]", True),
    ],
)
def test_a_derived_attribute_is_a_scalar_or_a_list_of_scalars(by, expression, fits):
    asked = claim_of(derived("r", expression, count=2), constraints=MATCH)

    answer = ask(by, pool_of(device("a"), device("b")), asked)

    assert isinstance(answer, Allocation) is fits


@BOTH
@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (NUMA, f"fails on device a of pool {DRIVER}/p: no such key: numa"),
        ("dyn(1u)", "must evaluate to a scalar or a list of scalars of one type, not uint"),
        (
            '[dyn(1), dyn("a")]',
            "must evaluate to a scalar or a list of scalars of one type, not int and string",
        ),
        ("dyn(null)", "must evaluate to a scalar or a list of scalars of one type, not null_type"),
        (
            "{1: 2}",
            "does not compile: must evaluate to a scalar (string, integer, boolean, semver) or a list",
        ),
        ("1.5", "does not compile: must evaluate to a scalar"),
        ("device.nope", "does not compile: "),
    ],
)
def test_a_derived_attribute_that_cannot_be_evaluated_fails_the_claim_with_its_place(by, expression, reason):
    asked = claim_of(derived("r", expression), constraints=MATCH)

    with pytest.raises(SelectorError) as caught:
        ask(by, pool_of(device("a")), asked)

    assert str(caught.value).startswith("ResourceClaim team/c: request r derived derived/key: ")
    assert reason in str(caught.value)


@BOTH
def test_selectors_read_the_device_s_own_attributes(by):
    selector = {"cel": {"expression": f"{NUMA} == 1"}}
    asked = claim_of(
        derived("r", "5", f"{DRIVER}/numa", selectors=[selector]),
        constraints=[{"distinctAttribute": f"{DRIVER}/numa"}],
    )

    assert names(ask(by, pool_of(device("a", numa=0), device("b", numa=1)), asked)) == ["b"]


@BOTH
def test_claims_that_derive_differently_are_not_taken_for_one_another(by):
    pool = pool_of(device("a", numa=0), device("b", numa=1))
    cluster = Cluster(pools=(pool,), classes={"any": DeviceClass(name="any")})
    engine = Engine.of(cluster)

    def fits(expression):
        claim = claim_of(derived("r", expression, count=2), constraints=MATCH)
        found = engine.allocate([claim], NODE) if by == "engine" else allocate([claim], cluster, NODE)
        return isinstance(found, Allocation)

    assert (fits("1"), fits(NUMA), fits("1")) == (True, False, True)


@pytest.mark.parametrize(
    ("requests", "constraints", "message"),
    [
        ([derived("r", "1")], [], "request r derives it, and no constraint of the request compares it"),
        (
            [derived("r", "1"), exactly("s")],
            [{"requests": ["s"], "matchAttribute": "derived/key"}],
            "request r derives it, and no constraint",
        ),
        ([derived("r", "1", "key")], MATCH, "must be fully qualified"),
        ([derived("r", "1", "a/b/key")], MATCH, "must be fully qualified"),
        (
            [exactly(derivedAttributes=[{"name": "derived/key", "expression": "1"}] * 2)],
            MATCH,
            "is listed twice",
        ),
    ],
)
def test_a_derived_attribute_that_the_api_server_refuses_is_refused_with_its_place(
    requests, constraints, message
):
    with pytest.raises(InvalidClaim, match=message):
        claim_of(*requests, constraints=constraints)


@BOTH
def test_a_derived_attribute_needs_its_feature(by):
    with pytest.raises(InvalidClaim, match="needs the feature DRADerivedAttributes, which is off"):
        ask(
            by,
            pool_of(device("a")),
            claim_of(derived("r", "1"), constraints=MATCH),
            DRADerivedAttributes=False,
        )
