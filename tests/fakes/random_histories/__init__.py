"""Random histories of a cluster: slices of both dialects that come, change and go, claims likewise."""

from dataclasses import dataclass, field, replace

from random_clusters import ZONE_A, board, pool, rarely, taken

from scheduler_core.codec import v1
from scheduler_core.codec.v1 import V1Slice
from scheduler_core.dialects import mixins
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid, ExclusiveScope
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import Device, DeviceId, DeviceName, QualifiedName
from scheduler_core.model.nodes import Node, OnNode
from scheduler_core.model.pool import PoolId
from scheduler_core.state.testing import DRIVER, mixin

NODES = [Node("n1", {"zone": "a"}), Node("n2", {"zone": "b"})]
POOLS = [
    (PoolId(DRIVER, "n1"), OnNode("n1")),
    (PoolId(DRIVER, "n2"), OnNode("n2")),
    (PoolId("a.example.com", "fabric"), ZONE_A),
]
GONE = Device(name=DeviceName("gone"))
BOARD = QualifiedName(f"{DRIVER}/board")


def v1_slices(chance, identity, nodes, generation):
    """The slices of one generation: counter sets in the first, devices in the others."""
    found = pool(chance, identity.driver, identity.name, nodes)
    parts = split(chance, [replace(one, parents=()) for one in found.devices])
    broken = {DeviceName("bad"): "its name is bad"} if rarely(chance, 8) else {}
    alike = {"pool": identity, "generation": generation, "slice_count": 1 + len(parts), "nodes": nodes}
    counters = V1Slice(name=f"{identity.name}-0", sources=found.sources, broken=broken, **alike)
    return [
        counters,
        *(
            V1Slice(name=f"{identity.name}-{number}", devices=tuple(part), **alike)
            for number, part in enumerate(parts, 1)
        ),
    ]


def composite_slices(chance, identity, nodes, generation):
    """The slices of one generation, with a mixin that some devices include."""
    devices = [one for number in range(chance.randint(1, 2)) for one in board(chance, number, [])]
    devices = [replace(one, includes=("red",)) if rarely(chance, 3) else one for one in devices]
    if rarely(chance, 10):
        devices.append(replace(devices[0], sources=()))
    parts = split(chance, devices)
    alike = {"pool": identity, "generation": generation, "slice_count": len(parts), "nodes": nodes}
    return [
        CompositeSlice(
            name=f"{identity.name}-{number}",
            mixins=() if number else (mixin("red", attributes={"color": "red"}),),
            devices=tuple(part),
            **alike,
        )
        for number, part in enumerate(parts)
    ]


def split(chance, devices):
    cut = chance.randint(1, len(devices))
    return [part for part in (devices[:cut], devices[cut:]) if part]


@dataclass
class Known:
    """What is known in the end. Shape: ``slices`` by dialect and name; ``claims`` in the order of arrival."""

    slices: dict = field(default_factory=dict)
    claims: dict = field(default_factory=dict)

    def pools(self):
        """The pool of each identity: composite where it is complete and valid, else v1, else composite."""
        composite = {one.id: one for one in mixins.pools(self._of(CompositeSlice))}
        plain = {one.id: one for one in v1.pools(self._of(V1Slice))}
        usable = {key: one for key, one in composite.items() if one.is_complete and one.problem is None}
        chosen = composite | plain | usable
        return [chosen[key] for key in sorted(chosen)]

    def _of(self, kind):
        return [one for one in self.slices.values() if isinstance(one, kind)]


class History:
    """Changes a state step by step, and notes what is known in the end."""

    def __init__(self, chance, state):
        self._chance = chance
        self._state = state
        self._generation = 1
        self.known = Known()

    def step(self):
        self._chance.choice(
            [self._publish, self._publish, self._meddle, self._remove, self._hold, self._hold, self._release]
        )()

    def upsert(self, *slices):
        for one in slices:
            self.known.slices[type(one), one.name] = one
        self._state.upsert_slices(slices)

    def _publish(self):
        """A driver writes a pool: the same generation in other words, or a new one; now and then in part."""
        identity, nodes = self._chance.choice(POOLS)
        self._generation += self._chance.randint(0, 1)
        make = self._chance.choice([v1_slices, composite_slices])
        written = make(self._chance, identity, nodes, self._generation)
        listed = written[: self._chance.randint(1, len(written))] if rarely(self._chance, 3) else written
        self._chance.shuffle(listed)
        if self._chance.random() < 0.5:
            self.upsert(*listed)
        else:
            for one in listed:
                self.upsert(one)
        if self._chance.random() < 0.7:
            self._tidy(identity, {(type(one), one.name) for one in written})

    def _tidy(self, identity, written):
        """What the pool had before and has not now is deleted."""
        kinds = {kind for kind, _ in written}
        for key, one in list(self.known.slices.items()):
            if one.pool == identity and key[0] in kinds and key not in written:
                self._delete(key)

    def _meddle(self):
        """One slice changes; rarely it lists a device twice, or belongs to another pool now."""
        if self.known.slices:
            one = self._chance.choice(list(self.known.slices.values()))
            if one.devices:
                more = one.devices[:1] if rarely(self._chance, 4) else ()
                one = replace(one, devices=(*one.devices[1:], *more))
            if rarely(self._chance, 8):
                identity, nodes = self._chance.choice(POOLS)
                one = replace(one, pool=identity, nodes=nodes)
            self.upsert(one)

    def _remove(self):
        if self.known.slices:
            self._delete(self._chance.choice(list(self.known.slices)))

    def _delete(self, key):
        del self.known.slices[key]
        remove = self._state.remove_v1_slice if key[0] is V1Slice else self._state.remove_composite_slice
        remove(key[1])

    def _hold(self):
        """A claim is allocated, or holds something else now; nobody asks whether the devices are free."""
        ids = [(one.id_of(device), device) for one in self.known.pools() for device in one.devices]
        ids.append((DeviceId(DRIVER, "n1", GONE.name), GONE))
        number = self._chance.randrange(5)
        results = tuple(
            taken(self._chance, *wanted) for wanted in self._chance.choices(ids, k=self._chance.randint(1, 3))
        )
        exclusive = (ExclusiveScope((BOARD,)),) if rarely(self._chance, 8) else ()
        claim = AllocatedClaim(
            ref=ClaimRef("default", f"c{number % 3}"),
            uid=ClaimUid(f"uid-{number}") if number else None,
            results=results,
            exclusive=exclusive,
        )
        if self.known.claims.get(holder(claim)) != claim:  # told again, a claim keeps its place
            self.known.claims.pop(holder(claim), None)
            self.known.claims[holder(claim)] = claim
        self._state.hold(claim)

    def _release(self):
        if self.known.claims:
            key = self._chance.choice(list(self.known.claims))
            del self.known.claims[key]
            self._state.release(key)


def holder(claim):
    return claim.uid or claim.ref
