"""What a depth-first search is at its worst on takes few steps, however large, and whatever is said of it.

Steps are counted, never timed. A board has seven slots and can be cut into parts of one, two or four of
them; every case is asked of 8 boards and of 32, with all requests that a claim may have.
"""

from dataclasses import replace
from random import Random

import pytest

from scheduler_core.base.features import ALL
from scheduler_core.base.limits import RESULTS
from scheduler_core.base.quantity import Quantity
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT, best_fit
from scheduler_core.model.claim import DistinctAttribute, MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import Binding, QualifiedName
from scheduler_core.model.result import Allocation
from scheduler_core.model.taints import Taint, Toleration
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

STEPS = 2000
SLOTS = 7
PARTS = [("small", 1, range(7)), ("medium", 2, (0, 2, 4)), ("large", 4, (0, 3))]
BOARD = MatchAttribute(QualifiedName(f"{DRIVER}/board"))
RAIL = DistinctAttribute(QualifiedName(f"{DRIVER}/rail"))


def boards(count):
    for board in range(count):
        name = f"b{board:02}"
        slots = {f"s{slot}": 1 for slot in range(SLOTS)}
        yield device(name, attributes={"kind": "board", "board": name}, m=SLOTS, **slots)
        for kind, size, starts in PARTS:
            for start in starts:
                mine = {f"s{slot}": 1 for slot in range(start, start + size)}
                said = {"kind": kind, "board": name}
                yield device(f"{name}-{kind}-{start}", sources=[name], attributes=said, m=size, **mine)


def wanted(*kinds, constraint=None, name="claim"):
    requests = (
        request(f"r{number}", f"device.attributes['{DRIVER}'].kind == '{kind}'")
        for number, kind in enumerate(kinds[:RESULTS])
    )
    return claim(*requests, constraints=[constraint] if constraint else [], name=name)


def whole_boards(times):
    return [wanted("small", "medium", "large", constraint=BOARD, name=f"c{n}") for n in range(times)]


def obstacles(count):
    """On every board, parts where the large ones of a claim would lie."""
    return held(*(f"b{board:02}-small-{slot}" for board in range(count) for slot in (0, 3)))


def rails(count, values):
    return (device(f"d{n:02}", attributes={"kind": "rail", "rail": n % values}) for n in range(count))


CASES = {
    "one board per claim": lambda t: (boards(8 * t), whole_boards(t), None),
    "no board free": lambda t: (boards(8 * t), whole_boards(t), obstacles(8 * t)),
    "the last boards free": lambda t: (boards(8 * t), whole_boards(t), obstacles(7 * t)),
    "eight on a board of seven": lambda t: (boards(8 * t), [wanted(*["small"] * 8, constraint=BOARD)], None),
    "thirty-two on a board": lambda t: (boards(8 * t), [wanted(*["small"] * 32, constraint=BOARD)], None),
    "one too many of equal ones": lambda t: (rails(8 * t - 1, 1), [wanted(*["rail"] * (8 * t))], None),
    "one value too few": lambda t: (
        rails(24 * t, 3 * t),
        [wanted(*["rail"] * (3 * t + 1), constraint=RAIL)],
        None,
    ),
    "the last request matches nothing": lambda t: (
        boards(8 * t),
        [wanted(*["small"] * (6 * t), "nothing")],
        None,
    ),
    "everything at once": lambda t: (
        boards(8 * t),
        [wanted(*["large", "medium", "small"] * (3 * t))],
        obstacles(t),
    ),
}


def tainted(chance, one):
    return replace(one, taints=(Taint("health", chance.choice(["bad", "worse"])),)) if rarely(chance) else one


def grouped(chance, one):
    groups = frozenset(chance.sample("xyz", 2))
    return replace(one, draws=tuple(replace(draw, groups=groups) for draw in one.draws))


def waiting(chance, one):
    return replace(one, binding=Binding(("ready",), to_node=True)) if rarely(chance) else one


def listed(_, one):
    """What constraints compare is a list, of as many as a board has sockets."""
    lists = {
        key: (value, f"{value}'") if key.endswith("/board") else value
        for key, value in one.attributes.items()
    }
    return replace(one, attributes=lists)


def rarely(chance):
    return chance.random() < 0.3


def tolerant(option):
    return replace(option, tolerations=(Toleration("health", value="bad"),))


def demanding(option):
    return replace(option, capacity={} if "rail" in option.selectors[0] else {"m": Quantity.of(1)})


VARIANTS = {
    "as it is": (lambda _, one: one, lambda option: option),
    "taints and tolerations": (tainted, tolerant),
    "amounts wanted": (lambda _, one: one, demanding),
    "compatibility groups": (grouped, lambda option: option),
    "binding conditions": (waiting, lambda option: option),
    "lists that are compared": (listed, lambda option: option),
}


def changed_claim(one, change):
    requests = (replace(asked, alternatives=tuple(map(change, asked.alternatives))) for asked in one.requests)
    return replace(one, requests=tuple(requests))


def engine_of(devices, in_use, policy):
    allocated = () if in_use is None else (in_use,)
    return Engine.of(
        Cluster(pools=(devices,), classes={"any": ANY}, allocated=allocated, features=ALL), policy
    )


@pytest.mark.parametrize("policy", [FIRST_FIT, best_fit()], ids=["first-fit", "best-fit"])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("times", [1, 4])
def test_a_worst_case_takes_few_steps(case, times, variant, policy):
    parts, claims, in_use = CASES[case](times)
    mark, change = VARIANTS[variant]
    chance = Random(case)
    published = pool(*parts)
    published = replace(published, devices=tuple(mark(chance, one) for one in published.devices))
    engine = engine_of(published, in_use, policy)
    before = engine.effort.steps

    engine.decide([changed_claim(one, change) for one in claims], NODE)

    assert engine.effort.steps - before <= STEPS


@pytest.mark.parametrize("times", [1, 4])
def test_the_boards_found_are_the_free_ones(times):
    parts, claims, in_use = CASES["the last boards free"](times)
    engine = engine_of(pool(*parts), in_use, FIRST_FIT)

    found = engine.decide(claims, NODE)

    assert isinstance(found, Allocation)
    assert {one.device.device.split("-")[0] for results in found.results.values() for one in results} == {
        f"b{board:02}" for board in range(7 * times, 8 * times)
    }


@pytest.mark.parametrize("times", [1, 4])
def test_asking_again_takes_no_step(times):
    parts, claims, in_use = CASES["no board free"](times)
    engine = engine_of(pool(*parts), in_use, FIRST_FIT)
    engine.decide(claims, NODE)
    before = engine.effort.steps

    engine.feasible_nodes(claims, [NODE])
    engine.feasible_nodes(claims, [NODE])

    assert engine.effort.steps - before <= STEPS // 100
