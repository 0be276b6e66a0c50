"""Random clusters and claims, with everything that the tables of the API cover and more."""

from dataclasses import dataclass, fields, replace

from scheduler_core.base.features import ALL, Features
from scheduler_core.base.quantity import Quantity
from scheduler_core.dialects.mixins import flatten
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
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
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import Binding, QualifiedName
from scheduler_core.model.nodes import AllNodes, Matching, Node, OnNode, Operator, Requirement
from scheduler_core.model.pool import PoolId
from scheduler_core.model.taints import Effect, Taint, Toleration
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, DRIVER, device

NODES = [Node("n1", {"zone": "a"}), Node("n2", {"zone": "b"})]
ZONE_A = Matching((Requirement("zone", Operator.IN, ("a",)),))
KIND = f"device.attributes['{DRIVER}'].kind"
SELECTORS = [
    *(f"{KIND} == '{kind}'" for kind in ("whole", "small", "small", "large")),
    f"{KIND} != 'whole'",
    f"'color' in device.attributes['{DRIVER}'] && device.attributes['{DRIVER}'].color == 'red'",
    f"device.capacity['{DRIVER}'].m.compareTo(quantity('2')) >= 0",
    f"device.attributes['{DRIVER}'].board < 2",
]
FAILING = f"device.attributes['{DRIVER}'].color == 'red'"
MARKS = ["taints", "binding", "groups", "shared", "only with"]
TOLERATIONS = [
    Toleration("health", value="bad"),
    Toleration("health", exists=True, effect=Effect.NO_SCHEDULE),
]
GATES = [one.name for one in fields(Features) if one.name != "groups"]
ATTRIBUTES = ["board", "board", "board", "color", "kind", "twisted", "tags"]


def rarely(chance, one_in):
    return chance.randrange(one_in) == 0


def named(chance, board, kind):
    attributes = {"board": board, "kind": kind}
    if not rarely(chance, 4):
        attributes["color"] = chance.choice(["red", "blue"])
    if chance.random() < 0.5:
        attributes["twisted"] = chance.choice([True, 1, "1"])
    if rarely(chance, 3):
        attributes["tags"] = chance.choice([("a", "b"), ("b", "c"), ("c",), "a", "d"])
    return attributes


def board(chance, number, older):
    """One board and what is cut from it: in parts, in parts of parts, now and then from two boards."""
    name = f"b{number}"
    found = [device(name, attributes=named(chance, number, "whole"), m=chance.randint(2, 7), s0=1, s1=1)]
    for part in range(chance.randint(0, 4)):
        kind = chance.choice(["small", "small", "large"])
        sources = [name]
        if older and rarely(chance, 6):
            sources.insert(chance.randint(0, 1), chance.choice(older))
        slot = chance.choice([{}, {}, {"s0": 1}, {"s1": 1}])
        size = chance.randint(1, 2) + (1 if kind == "large" else 0)
        mine = f"{name}-p{part}"
        found.append(device(mine, sources=sources, attributes=named(chance, number, kind), m=size, **slot))
        for leaf in range(chance.choice([0, 0, 0, 1, 2])):
            extra = [name] if rarely(chance, 5) else []
            looks, size = named(chance, number, "small"), chance.randint(0, 2)
            found.append(device(f"{mine}-l{leaf}", sources=[*extra, mine], attributes=looks, m=size))
    return found


def pool(chance, driver, name, nodes):
    devices, older = [], []
    for number in range(chance.randint(1, 3)):
        mine = board(chance, number, older)
        older.append(mine[0].name)
        devices += mine
    if chance.random() < 0.5:
        chance.shuffle(devices)
    if nodes is None:
        places = [AllNodes(), OnNode("n1"), OnNode("n2"), ZONE_A]
        devices = [replace(one, nodes=chance.choice(places)) for one in devices]
    found = flatten(
        [CompositeSlice(name=name, pool=PoolId(driver, name), nodes=nodes, devices=tuple(devices))]
    )
    marks = [mark for mark in MARKS if rarely(chance, 6)]
    return replace(found, devices=tuple(marked(chance, one, marks) for one in found.devices))


def marked(chance, one, marks):
    """The device with some of what the API allows to say of one."""
    changes = {}
    if "taints" in marks and rarely(chance, 3):
        changes["taints"] = (Taint("health", chance.choice(["bad", "worse"]), chance.choice(list(Effect))),)
    if "binding" in marks and rarely(chance, 3):
        changes["binding"] = chance.choice([Binding(("ready",), ("lost",)), Binding(to_node=True)])
    if "groups" in marks:
        changes["draws"] = tuple(
            replace(draw, groups=frozenset(chance.sample("xyz", chance.randint(1, 2))))
            if chance.random() < 0.5
            else draw
            for draw in one.draws
        )
    if "shared" in marks and rarely(chance, 4):
        changes["is_shareable"] = True
    if "only with" in marks and rarely(chance, 4):
        changes["only_with"] = chance.choice(SELECTORS)
    return replace(one, **changes)


def all_pools(chance):
    found = [pool(chance, DRIVER, "n1", OnNode("n1"))]
    if chance.random() < 0.5:
        found.append(pool(chance, DRIVER, "n2", OnNode("n2")))
    if rarely(chance, 4):
        found.append(pool(chance, "a.example.com", "n1", chance.choice([AllNodes(), ZONE_A, None])))
    return found


def option(chance, name):
    selectors = chance.sample(SELECTORS, chance.randint(1, 2))
    return DeviceRequest(
        name=name,
        class_name="any",
        selectors=(FAILING,) if rarely(chance, 15) else tuple(selectors),
        count=None if rarely(chance, 15) else chance.choice([1, 1, 1, 1, 1, 2]),
        admin_access=rarely(chance, 30),
        tolerations=tuple(chance.sample(TOLERATIONS, chance.randint(0, 1))),
        capacity={"m": Quantity.of(chance.randint(0, 3))} if rarely(chance, 10) else {},
    )


def request(chance, name):
    if not rarely(chance, 4):
        return Request(name=name, alternatives=(option(chance, name),))
    letters = chance.choice(["a", "ab", "abc"])
    return Request(name=name, alternatives=tuple(option(chance, f"{name}/{letter}") for letter in letters))


def scopes(chance):
    names = chance.sample(["board", "color", "twisted", "kind"], chance.randint(1, 2))
    return tuple(QualifiedName(f"{DRIVER}/{name}") for name in names)


def scoped(chance, names):
    """A constraint that compares scopes, over some of the requests."""
    over = tuple(name for name in names if chance.random() < 0.7) or tuple(names)
    match chance.randrange(3):
        case 0:
            cut = chance.randint(1, len(over))
            return SameScope(scopes(chance), tuple(group for group in (over[:cut], over[cut:]) if group))
        case 1:
            return PreferScope(scopes(chance), over if chance.random() < 0.5 else ())
        case _:
            return exclusive(chance, over)


def exclusive(chance, over=()):
    kind = QualifiedName(f"{DRIVER}/kind") if chance.random() < 0.5 else None
    return ExclusiveScope(scopes(chance), over, kind=kind, values=("small", "whole") if kind else ())


def claim(chance, name):
    wanted = tuple(request(chance, f"r{number}") for number in range(chance.randint(1, 3)))
    constraints = []
    for _ in range(chance.choice([0, 0, 0, 1, 1, 1, 2])):
        if rarely(chance, 4):
            constraints.append(scoped(chance, [request.name for request in wanted]))
            continue
        kind = chance.choice([MatchAttribute, MatchAttribute, DistinctAttribute])
        over = tuple(request.name for request in wanted if chance.random() < 0.5)
        attribute = QualifiedName(f"{DRIVER}/{chance.choice(ATTRIBUTES)}")
        constraints.append(kind(attribute, over if chance.random() < 0.5 else ()))
    return Claim(ref=ClaimRef("default", name), requests=wanted, constraints=tuple(constraints))


@dataclass
class Situation:
    pools: list
    held: list
    claims: list
    features: Features

    def engine(self, policy=FIRST_FIT):
        engine = Engine(ClusterState({"any": ANY}, self.features), policy)
        for one in self.pools:
            engine.state.set_pool(one)
        for one in self.held:
            engine.state.hold(one)
        return engine

    def cluster(self):
        in_order = tuple(sorted(self.pools, key=lambda one: one.id))
        return Cluster(
            pools=in_order, classes={"any": ANY}, allocated=tuple(self.held), features=self.features
        )


def situation_of(chance):
    pools = all_pools(chance)
    ids = [(one.id_of(device), device) for one in pools for device in one.devices]
    held = [
        AllocatedClaim(
            ref=ClaimRef("default", f"held-{number}"),
            results=tuple(taken(chance, *wanted) for wanted in chance.choices(ids, k=chance.randint(0, 2))),
            exclusive=(exclusive(chance),) if rarely(chance, 8) else (),
        )
        for number in range(chance.randint(0, 2))
    ]
    claims = [claim(chance, f"c{number}") for number in range(chance.choice([1, 1, 2]))]
    return Situation(pools, held, claims, features_of(chance))


def taken(chance, wanted, device):
    """A device in use, of a shareable one now and then a share."""
    if device.is_shareable and chance.random() < 0.7:
        return AllocatedDevice("r", wanted, share_id="s", consumed={"m": Quantity.of(1)})
    return AllocatedDevice("r", wanted)


def features_of(chance):
    """Nearly always everything is on."""
    off = [chance.choice(GATES)] if rarely(chance, 10) else []
    return replace(ALL, groups=chance.choice(["kep-4815", "kep-5963"]), **dict.fromkeys(off, False))
