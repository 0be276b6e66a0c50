"""Claims on a DGX A100: those that once took seconds to decide, and random ones from the whole claim API."""

from __future__ import annotations

from functools import cache

from scheduler_core.base.quantity import Quantity
from scheduler_core.codec.claims import decode_class
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import (
    Claim,
    ClaimRef,
    DeviceRequest,
    DistinctAttribute,
    ExclusiveScope,
    MatchAttribute,
    PreferScope,
    Request,
    SameScope,
)
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.machine import CLASSES, DRIVER, Dgx
from tangram.hardware import AllMachines

NODE = Node("dgx-a100")
PARENT = QualifiedName(f"{DRIVER}/parentUUID")
ROOT = QualifiedName("resource.kubernetes.io/pcieRoot")
NUMA = QualifiedName("resource.kubernetes.io/numaNode")
PROFILES = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "1g.5gb+me", "7g.40gb")


@cache
def dgx():
    return Dgx(AllMachines()).pool()


def dgx_engine(policy):
    classes = [decode_class(one) for one in CLASSES]
    engine = Engine(ClusterState({one.name: one for one in classes}), policy)
    engine.state.set_pool(dgx())
    return engine


def profile(name):
    return f'device.attributes["{DRIVER}"].profile == "{name}"'


def option(name, kind, *selectors, count=1, admin=False, capacity=None):
    return DeviceRequest(
        name=name,
        class_name=f"{kind}.{DRIVER}",
        selectors=selectors,
        count=count,
        admin_access=admin,
        capacity=capacity or {},
    )


def one(name, kind, *selectors, **rest):
    return Request(name=name, alternatives=(option(name, kind, *selectors, **rest),))


def mig(name, wanted, **rest):
    return one(name, "mig", profile(wanted), **rest)


def first_available(name, *wanted):
    options = (option(f"{name}/{i}", "mig", profile(each)) for i, each in enumerate(wanted))
    return Request(name=name, alternatives=tuple(options))


def claim(name, requests, *constraints):
    return Claim(ref=ClaimRef("default", name), requests=tuple(requests), constraints=constraints)


def nine(*wanted):
    return [first_available(f"r{i}", *wanted) for i in range(9)]


def pairs(count):
    """Partitions, each with a VF below its PCIe root, no two of one GPU."""
    requests = [each for i in range(count) for each in (mig(f"m{i}", "1g.5gb"), one(f"v{i}", "vf"))]
    matched = [MatchAttribute(ROOT, (f"m{i}", f"v{i}")) for i in range(count)]
    apart = DistinctAttribute(PARENT, tuple(f"m{i}" for i in range(count)))
    return [claim("c", requests, *matched, apart)]


def same_switch(number):
    groups = (("g",), ("v",))
    return [
        claim(f"c{i}", [one("g", "gpu"), one("v", "vf")], SameScope((ROOT,), groups)) for i in range(number)
    ]


def four_and_admin():
    wanted = [mig("a", "1g.5gb"), mig("b", "2g.10gb"), mig("e", "3g.20gb")]
    four = [claim(f"c{i}", wanted, MatchAttribute(PARENT)) for i in range(3)]
    watched = [*wanted, mig("z", "1g.5gb", admin=True)]
    return [*four, claim("d", watched, MatchAttribute(PARENT, ("a", "b", "e")))]


def all_and_four():
    wanted = [one("all", "nic", count=None), *(mig(f"m{i}", "3g.20gb") for i in range(4))]
    return [claim("c", wanted)]


def with_capacity(count):
    memory = {"memory": Quantity.parse("4Gi")}
    return [claim("c", [mig(f"r{i}", "1g.5gb", capacity=memory) for i in range(count)])]


CLAIMS = {
    "nine of two alternatives, distinct": (
        [claim("c", nine(*PROFILES[:2]), DistinctAttribute(PARENT))],
        False,
    ),
    "nine of six alternatives, distinct": ([claim("c", nine(*PROFILES), DistinctAttribute(PARENT))], False),
    "nine of six alternatives, matched": ([claim("c", nine(*PROFILES), MatchAttribute(PARENT))], False),
    "five matched pairs": (pairs(5), True),
    "nine matched pairs": (pairs(9), False),
    "32 requests with a capacity": (with_capacity(32), True),
    "25 of 2g.10gb": ([claim("c", [mig(f"r{i}", "2g.10gb") for i in range(25)])], False),
    "32 matched": ([claim("c", [mig("r", "1g.5gb", count=32)], MatchAttribute(PARENT))], False),
    "32 with admin access, distinct": (
        [claim("c", [mig("r", "1g.5gb", count=32, admin=True)], DistinctAttribute(PARENT))],
        False,
    ),
    "admin access beside four claims": (four_and_admin(), True),
    "all NICs beside four partitions": (all_and_four(), True),
    "eight GPUs with a VF each": (same_switch(8), True),
    "nine GPUs with a VF each": (same_switch(9), False),
}
"""Shape: by name the claims, and whether they fit."""


def random_request(chance, name):
    letters = "abc"[: chance.choice([1, 1, 2, 3])]
    names = [name] if len(letters) == 1 else [f"{name}/{letter}" for letter in letters]
    return Request(name=name, alternatives=tuple(random_option(chance, each) for each in names))


def random_option(chance, name):
    kind = chance.choice(["mig", "mig", "mig", "gpu", "vf", "nic"])
    selectors = (profile(chance.choice(PROFILES)),) if kind == "mig" else ()
    count = chance.choice([1, 1, 1, 2, 4, 8, 32, None])
    return option(name, kind, *selectors, count=count, admin=chance.random() < 0.1)


def random_constraint(chance, names):
    over = tuple(name for name in names if chance.random() < 0.5) or tuple(names)
    attribute = chance.choice([PARENT, ROOT, NUMA])
    match chance.randrange(6):
        case 0 | 1:
            return MatchAttribute(attribute, over)
        case 2 | 3:
            return DistinctAttribute(attribute, over)
        case 4 if len(over) > 1:
            return SameScope((ROOT, NUMA), (over[:1], over[1:]))
        case 5:
            return ExclusiveScope((ROOT,), over)
        case _:
            return PreferScope((ROOT, NUMA), over)


def random_claims(chance):
    """Claims of up to twelve requests each, with up to five constraints."""
    found = []
    for number in range(chance.choice([1, 1, 2, 4])):
        names = [f"r{i}" for i in range(chance.choice([1, 2, 4, 8, 12]))]
        constraints = [random_constraint(chance, names) for _ in range(chance.randrange(6))]
        found.append(claim(f"c{number}", [random_request(chance, name) for name in names], *constraints))
    return found
