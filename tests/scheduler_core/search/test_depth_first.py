"""The search against a plain oracle: the first valid assignment in listed order, or none.

The oracle shares no code with the ledger: it judges a whole set of devices by the written rules.
"""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.result import Allocation, Unallocatable
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

KIND = QualifiedName(f"{DRIVER}/kind")


def selector(kind):
    return f"device.attributes['{DRIVER}'].kind == '{kind}'"


def ancestors(devices, name):
    found = set()
    todo = [name]
    while todo:
        for parent in devices[todo.pop()].sources:
            if parent not in found:
                found.add(parent)
                todo.append(parent)
    return found


def is_valid(devices, taken):
    """Judge a set of devices by the rules, from their written form (one source each, dimension m)."""
    if len(set(taken)) < len(taken):
        return False
    above = {name: ancestors(devices, name) for name in taken}
    if any(other in above[name] for name in taken for other in taken):
        return False
    active = set(taken).union(*above.values())
    for source in active:
        users = [name for name in active if source in devices[name].sources]
        drawn = sum(amount(devices[name]) for name in users)
        if users and drawn > amount(devices[source]):
            return False
    return True


def amount(one):
    return one.capacity[f"{DRIVER}/m"].nano


def satisfies(devices, picks, constraint):
    if constraint is None:
        return True
    values = [devices[name].attributes[f"{DRIVER}/gpu"] for pick in picks for name in pick]
    return len(set(values)) == (1 if constraint == "match" else len(values))


def oracle(devices, wants, constraint, in_use):
    """Return the first valid assignment, trying devices in listed order, or None."""
    choices = []
    for kind, count in wants:
        matching = [name for name, one in devices.items() if one.attributes[KIND] == kind]
        choices.append(list(combinations(matching, count)))
    for picks in product(*choices):
        taken = [*in_use, *(name for pick in picks for name in pick)]
        if is_valid(devices, taken) and satisfies(devices, picks, constraint):
            return [sorted(pick) for pick in picks]
    return None


@st.composite
def situations(draw):
    devices = {}
    for gpu in range(draw(st.integers(1, 3))):
        attributes = {"gpu": gpu}
        devices[f"g{gpu}"] = device(
            f"g{gpu}", attributes=attributes | {"kind": "gpu"}, m=draw(st.integers(2, 6))
        )
        for part in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["small", "large"]))
            name = f"g{gpu}-p{part}"
            size = draw(st.integers(1, 3)) + (2 if kind == "large" else 0)
            devices[name] = device(name, sources=[f"g{gpu}"], attributes=attributes | {"kind": kind}, m=size)
            if kind == "large" and draw(st.booleans()):
                leaf = f"{name}-leaf"
                devices[leaf] = device(leaf, sources=[name], attributes=attributes | {"kind": "small"}, m=1)
    fitting = [name for name in devices if is_valid(devices, [name])]
    wanted = draw(st.lists(st.sampled_from(fitting), max_size=2)) if fitting else []
    in_use = wanted if is_valid(devices, wanted) else []
    wants = draw(
        st.lists(
            st.tuples(st.sampled_from(["gpu", "small", "large"]), st.integers(1, 2)), min_size=1, max_size=3
        )
    )
    return devices, wants, draw(st.sampled_from([None, "match", "distinct"])), in_use


@settings(max_examples=400, deadline=None)
@given(situations())
def test_first_fit_finds_exactly_the_first_valid_assignment_or_says_that_there_is_none(situation):
    devices, wants, constraint, in_use = situation
    one_pool = pool(*devices.values())
    rules = {None: (), "match": (MatchAttribute(QualifiedName(f"{DRIVER}/gpu")),)}
    rules["distinct"] = (DistinctAttribute(QualifiedName(f"{DRIVER}/gpu")),)
    wanted = claim(
        *(request(f"r{i}", selector(kind), count=count) for i, (kind, count) in enumerate(wants)),
        constraints=rules[constraint],
    )
    cluster = Cluster(pools=(one_pool,), classes={"any": ANY}, allocated=(held(*in_use),))

    answer = allocate([wanted], cluster, NODE)

    expected = oracle(devices, wants, constraint, in_use)
    if expected is None:
        assert isinstance(answer, Unallocatable)
        return
    assert isinstance(answer, Allocation)
    results = answer.results[wanted.ref]
    found = [sorted(r.device.device for r in results if r.request == f"r{i}") for i in range(len(wants))]
    assert found == expected


def test_the_books_are_left_as_they_were_found():
    one_pool = pool(device("g", attributes={"kind": "gpu"}, m=1))
    cluster = Cluster(pools=(one_pool,), classes={"any": ANY})

    answers = [allocate([claim(request("r", selector("gpu")))], cluster, NODE) for _ in range(2)]

    assert answers[0] == answers[1]


def test_eight_equal_requests_for_seven_devices_are_refused_without_trying_every_order():
    parts = [device(f"p{i}", sources=["g"], attributes={"kind": "small"}, m=1) for i in range(7)]
    cluster = Cluster(
        pools=(pool(device("g", attributes={"kind": "gpu"}, m=7), *parts),), classes={"any": ANY}
    )
    wanted = claim(*(request(f"r{i}", selector("small")) for i in range(8)))

    answer = allocate([wanted], cluster, NODE)

    assert isinstance(answer, Unallocatable)
    assert "each of r0, r1, r2 and 5 more fits alone" in answer.reasons[0].detail


@pytest.mark.parametrize("count", [None, 2])
def test_a_request_for_several_devices_that_exclude_each_other_does_not_fit_alone(count):
    parts = [device(f"p{i}", sources=["g"], attributes={"kind": "small"}, m=3) for i in range(2)]
    cluster = Cluster(
        pools=(pool(device("g", attributes={"kind": "gpu"}, m=4), *parts),), classes={"any": ANY}
    )

    answer = allocate([claim(request("r", selector("small"), count=count))], cluster, NODE)

    assert isinstance(answer, Unallocatable)
    (reason,) = answer.reasons
    assert "fits alone" not in reason.detail
    assert "fit together; p1: g has too little m left: 3 needed, 1 of 4 left" in reason.detail


def test_a_reason_names_the_dimension_and_the_holder():
    one_pool = pool(
        device("g", attributes={"kind": "gpu"}, m=4),
        device("p", sources=["g"], attributes={"kind": "small"}, m=3),
        device("q", sources=["g"], attributes={"kind": "large"}, m=3),
    )
    cluster = Cluster(pools=(one_pool,), classes={"any": ANY}, allocated=(held("p", by="infer-7"),))

    answer = allocate([claim(request("r", selector("large")))], cluster, NODE)

    assert isinstance(answer, Unallocatable)
    assert str(answer.reasons[0]) == (
        "default/claim request r: needs 1 device, and the only one that matches is not free; "
        "q: g has too little m left: 3 needed, 1 of 4 left; held by default/infer-7 (p)"
    )


def test_a_constraint_is_blamed_only_where_it_is_the_obstacle():
    one_pool = pool(
        device("g0", attributes={"kind": "gpu", "gpu": 0}, m=1),
        device("g1", attributes={"kind": "gpu", "gpu": 1}, m=1),
    )
    cluster = Cluster(pools=(one_pool,), classes={"any": ANY})
    gpu, kind = QualifiedName(f"{DRIVER}/gpu"), QualifiedName(f"{DRIVER}/kind")
    wanted = claim(
        request("r", selector("gpu"), count=2), constraints=[MatchAttribute(kind), MatchAttribute(gpu)]
    )

    answer = allocate([wanted], cluster, NODE)

    assert [reason.detail for reason in answer.reasons] == [
        f"the devices fit, but not with matchAttribute {gpu} over r"
    ]


def test_a_claim_without_requests_is_never_to_blame():
    one_pool = pool(device("g0", attributes={"kind": "gpu"}, m=1))
    cluster = Cluster(pools=(one_pool,), classes={"any": ANY})
    empty = claim(constraints=[MatchAttribute(KIND)], name="empty")
    missing = MatchAttribute(QualifiedName(f"{DRIVER}/none"))

    answer = allocate([empty, claim(request("r", selector("gpu")), constraints=[missing])], cluster, NODE)

    assert [str(reason.claim) for reason in answer.reasons] == ["default/claim"]
