"""The engine against the plain search, on random clusters with everything the tables cover and more."""

from dataclasses import dataclass, replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_core.allocate import allocate
from scheduler_core.engine import Engine, best_fit
from scheduler_core.errors import CoreError
from scheduler_core.mixins import flatten
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
    Claim,
    ClaimRef,
    DeviceRequest,
    DistinctAttribute,
    MatchAttribute,
    Request,
)
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.nodes import AllNodes, Matching, Node, OnNode, Operator, Requirement
from scheduler_core.model.pool import PoolId
from scheduler_core.model.result import Allocation
from scheduler_core.problem import Cluster, problem_of
from scheduler_core.testing import ANY, DRIVER, device

NODES = [Node("n1", {"zone": "a"}), Node("n2", {"zone": "b"}), Node("n3")]
ZONE_A = Matching((Requirement("zone", Operator.IN, ("a",)),))
SELECTORS = [
    *(f"device.attributes['{DRIVER}'].kind == '{kind}'" for kind in ("whole", "small", "large")),
    f"device.attributes['{DRIVER}'].kind != 'whole'",
    f"'color' in device.attributes['{DRIVER}'] && device.attributes['{DRIVER}'].color == 'red'",
    f"device.capacity['{DRIVER}'].m.compareTo(quantity('2')) >= 0",
    f"device.attributes['{DRIVER}'].color == 'red'",
]
ATTRIBUTES = ["board", "color", "kind", "twisted"]


def named(draw, board, kind):
    attributes = {"board": board, "kind": kind}
    if draw(st.integers(0, 3)):
        attributes["color"] = draw(st.sampled_from(["red", "blue"]))
    if draw(st.booleans()):
        attributes["twisted"] = draw(st.sampled_from([True, 1, "1"]))
    return attributes


@st.composite
def boards(draw, number, older):
    """One board and what is cut from it: whole, in parts, in parts of parts, from another board too."""
    name = f"b{number}"
    found = [device(name, attributes=named(draw, number, "whole"), m=draw(st.integers(2, 6)), s0=1, s1=1)]
    for part in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(["small", "large"]))
        sources = [name]
        if older and draw(st.integers(0, 5)) == 0:
            sources.insert(draw(st.integers(0, 1)), draw(st.sampled_from(older)))
        slot = draw(st.sampled_from([{}, {"s0": 1}, {"s1": 1}]))
        size = draw(st.integers(1, 3)) + (1 if kind == "large" else 0)
        mine = f"{name}-p{part}"
        found.append(device(mine, sources=sources, attributes=named(draw, number, kind), m=size, **slot))
        if draw(st.integers(0, 2)) == 0:
            leaves = draw(st.integers(1, 2))
            for leaf in range(leaves):
                extra = [name] if draw(st.integers(0, 4)) == 0 else []
                found.append(
                    device(
                        f"{mine}-l{leaf}",
                        sources=[*extra, mine],
                        attributes=named(draw, number, "small"),
                        m=draw(st.integers(0, 2)),
                    )
                )
    return found


@st.composite
def pools(draw, driver, name, nodes):
    devices, older = [], []
    for number in range(draw(st.integers(0, 3))):
        mine = draw(boards(number, older))
        older.append(mine[0].name)
        devices += mine
    if draw(st.booleans()):
        devices = draw(st.permutations(devices))
    if nodes is None:
        places = st.sampled_from([AllNodes(), OnNode("n1"), OnNode("n2"), ZONE_A])
        devices = [replace(one, nodes=draw(places)) for one in devices]
    return flatten(
        [CompositeSlice(name=name, pool=PoolId(driver, name), nodes=nodes, devices=tuple(devices))]
    )


@st.composite
def all_pools(draw):
    choices = st.sampled_from([AllNodes(), ZONE_A, None])
    found = [draw(pools(DRIVER, "n1", OnNode("n1")))]
    if draw(st.booleans()):
        found.append(draw(pools(DRIVER, "n2", OnNode("n2"))))
    if draw(st.integers(0, 2)) == 0:
        found.append(draw(pools("a.example.com", "n1", draw(choices))))
    return found


@st.composite
def requests(draw, number):
    def option(name):
        count = draw(st.sampled_from([1, 1, 1, 2, 3, None] if draw(st.integers(0, 5)) == 0 else [1, 1, 2]))
        some = st.lists(st.sampled_from(SELECTORS[:-1]), max_size=2, unique=True)
        selectors = draw(some) if draw(st.integers(0, 9)) else [SELECTORS[-1]]
        return DeviceRequest(name=name, class_name="any", selectors=tuple(selectors), count=count)

    name = f"r{number}"
    if draw(st.integers(0, 3)):
        return Request(name=name, alternatives=(option(name),))
    options = tuple(option(f"{name}/{letter}") for letter in draw(st.sampled_from(["a", "ab", "abc"])))
    return Request(name=name, alternatives=options)


@st.composite
def claims(draw, name):
    wanted = tuple(draw(requests(number)) for number in range(draw(st.integers(1, 3))))
    constraints = []
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 1, 2]))):
        kind = draw(st.sampled_from([MatchAttribute, MatchAttribute, DistinctAttribute]))
        over = tuple(request.name for request in wanted if draw(st.booleans()))
        attribute = QualifiedName(f"{DRIVER}/{draw(st.sampled_from(ATTRIBUTES))}")
        constraints.append(kind(attribute, over if draw(st.booleans()) else ()))
    return Claim(ref=ClaimRef("default", name), requests=wanted, constraints=tuple(constraints))


@dataclass
class Situation:
    pools: list
    held: list
    claims: list


@st.composite
def situations(draw):
    found = draw(all_pools())
    ids = [pool.id_of(device) for pool in found for device in pool.devices]
    held = []
    for number, wanted in enumerate(
        draw(st.lists(st.lists(st.sampled_from(ids), max_size=2), max_size=2)) if ids else []
    ):
        ref = ClaimRef("default", f"held-{number}")
        held.append(AllocatedClaim(ref=ref, results=tuple(result(one) for one in wanted)))
    wanted = [draw(claims(f"c{number}")) for number in range(draw(st.sampled_from([1, 1, 2])))]
    return Situation(found, held, wanted)


def result(device_id):
    return AllocatedDevice("r", device_id)


def engine_of(situation, **options):
    engine = Engine({"any": ANY}, **options)
    for pool in situation.pools:
        engine.set_pool(pool)
    for claim in situation.held:
        engine.hold(claim)
    return engine


def cluster_of(situation):
    return Cluster(pools=tuple(situation.pools), classes={"any": ANY}, allocated=tuple(situation.held))


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except CoreError as error:
        return type(error), str(error)


SETTINGS = settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))


@SETTINGS
@given(situations())
def test_every_answer_is_the_plain_searchs_answer(situation):
    engine, cluster = engine_of(situation), cluster_of(situation)

    for node in NODES:
        expected = outcome(allocate, situation.claims, cluster, node)

        assert outcome(engine.allocate, situation.claims, node) == expected
        assert outcome(engine.allocate, situation.claims, node) == expected


def check(answer, claims, cluster, node):
    """Judge an answer by the ledger and the rules, whoever found it."""
    problem = problem_of(claims, cluster, node)
    left = {ref: list(results) for ref, results in answer.results.items()}
    for slot in problem.slots:
        results = left[claims[slot.claim].ref]
        want = next(want for want in slot.wants if want.name == results[0].request)
        mine = [results.pop(0) for _ in range(want.count or len(want.candidates))]
        assert all(one.request == want.name for one in mine)
        for one in mine:
            candidate = next(c for c in want.candidates if offered(c, cluster) == one.device)
            assert candidate.error is None
            problem.ledgers[candidate.offer.pool].take(candidate.offer.device.name, want.name)
            for rule in want.rules:
                assert problem.rules[rule].admits(candidate.offer.device)
                problem.rules[rule].add(candidate.offer.device)
    assert not any(left.values())


def offered(candidate, cluster):
    return cluster.pools[candidate.offer.pool].id_of(candidate.offer.device)


@settings(SETTINGS, max_examples=400)
@given(situations())
def test_best_fit_finds_an_answer_whenever_there_is_one_and_it_is_valid(situation):
    engine, cluster = engine_of(situation, policy=best_fit()), cluster_of(situation)
    cluster = replace(cluster, pools=tuple(sorted(cluster.pools, key=lambda pool: pool.id)))

    for node in NODES:
        expected = outcome(allocate, situation.claims, cluster, node)
        answer = outcome(engine.allocate, situation.claims, node)

        assert isinstance(answer, Allocation) == isinstance(expected, Allocation)
        if isinstance(answer, Allocation):
            check(answer, situation.claims, cluster, node)
        else:
            assert answer == expected
