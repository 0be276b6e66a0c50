"""B11: claims that the tables do not cover, asked many times in different states of a node.

Before every question some devices, chosen at random, are held and others released; seeds are fixed. The time
covers the decision and its written result. All claims are warm: each was asked once before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from time import perf_counter_ns
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_class
from scheduler_core.engine.decider import Solver
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
    Claim,
    ClaimRef,
    DeviceRequest,
    MatchAttribute,
    Request,
    SameScope,
)
from scheduler_core.model.device import Device, QualifiedName
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.machine import CLASSES, DRIVER, NODE, Dgx
from tangram.bench.report import MS, US, Report, Row, Unit, times
from tangram.bench.settings import Settings

_COUNT: Final = 1000
_SEED: Final = 11
_SHARE: Final = 0.3
"""How much of the node is held on average, by devices."""
_PARENT: Final = QualifiedName(f"{DRIVER}/parentUUID")
_ROOT: Final = QualifiedName("resource.kubernetes.io/pcieRoot")
_TYPE: Final = QualifiedName(f"{DRIVER}/type")
_BANDWIDTH: Final = QualifiedName(f"{DRIVER}/bandwidth")
_GIGABIT: Final = 10**9
_TENANT: Final = QualifiedName(f"{DRIVER}/tenant")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """Questions of one kind. Shape: ``claims`` are asked in turn; ``may_hold`` says what gets held."""

    name: str
    pool: Callable[[Dgx], Pool]
    claims: Sequence[Sequence[Claim]]
    may_hold: Callable[[Device], bool]
    median_ns: int
    worst_ns: int


def _option(
    name: str, kind: str, *, count: int | None = 1, admin: bool = False, **rest: object
) -> DeviceRequest:
    selectors = tuple(
        f'device.attributes["{DRIVER}"].{attribute} == "{value}"' for attribute, value in rest.items()
    )
    return DeviceRequest(
        name=name, class_name=f"{kind}.{DRIVER}", selectors=selectors, count=count, admin_access=admin
    )


def _claim(
    number: int, *options: DeviceRequest, constraints: Sequence[SameScope | MatchAttribute] = ()
) -> Claim:
    requests = tuple(Request(name=one.name, alternatives=(one,)) for one in options)
    return Claim(ref=ClaimRef("bench", f"c{number}"), requests=requests, constraints=tuple(constraints))


def _same_pcie(gpus: int, vfs: int) -> list[Claim]:
    """Return four claims, each for GPUs and VFs below the same PCIe roots."""
    groups = SameScope((_ROOT,), (("gpu",), ("vf",)))
    options = _option("gpu", "gpu", count=gpus), _option("vf", "vf", count=vfs)
    return [_claim(number, *options, constraints=[groups]) for number in range(4)]


def _watched(last: DeviceRequest) -> list[Claim]:
    """Return three claims for three partitions of one GPU each, and a fourth that wants one request more."""
    wanted = [_option(name, "mig", profile=profile) for name, profile in zip("abc", _PROFILES, strict=True)]
    match = MatchAttribute(_PARENT, ("a", "b", "c"))
    three = [_claim(number, *wanted, constraints=[match]) for number in range(3)]
    return [*three, _claim(3, *wanted, last, constraints=[match])]


_PROFILES: Final = ("1g.5gb", "2g.10gb", "3g.20gb")


def _sharing(count: int, gigabits: int) -> list[Claim]:
    wanted = {"bandwidth": Quantity.of(gigabits * _GIGABIT)}
    options = [replace(_option(f"r{i}", "nic"), capacity=wanted) for i in range(count)]
    return [_claim(0, *options, _option("gpu", "gpu"))]


def _partners(count: int) -> list[Claim]:
    return [
        _claim(0, *(_option(f"r{i}", "mig", profile="1g.5gb") for i in range(count)), _option("vf", "vf"))
    ]


def _is(*kinds: str) -> Callable[[Device], bool]:
    return lambda device: device.attributes.get(_TYPE) in kinds


def _is_of_tenant_a(device: Device) -> bool:
    return device.attributes.get(_TENANT) == "a" or device.attributes.get(_TYPE) == "vf"


def _plain_pool(dgx: Dgx) -> Pool:
    return dgx.pool()


def _four_times(dgx: Dgx) -> Pool:
    (pool,) = v1.pools(v1.decode_slice(one) for one in dgx.slices(4))
    return pool


def _shared_nics(dgx: Dgx) -> Pool:
    """Return the node with NICs that serve many claims, 200 Gbit/s each, and without VFs."""
    capacity = {_BANDWIDTH: Quantity.of(200 * _GIGABIT)}
    kept = [one for one in dgx.pool().devices if one.attributes.get(_TYPE) != "vf"]
    devices = [
        replace(one, capacity={**one.capacity, **capacity}, is_shareable=True, draws=(), parents=())
        if one.attributes.get(_TYPE) == "nic"
        else one
        for one in kept
    ]
    return replace(dgx.pool(), devices=tuple(devices))


def _with_partners(dgx: Dgx) -> Pool:
    """Return the node with partitions of two tenants, which are not to be in use together."""
    devices = []
    for number, one in enumerate(dgx.pool().devices):
        tenant = "a" if number % 3 else "b"
        mine = f'device.attributes["{DRIVER}"]'
        told = f'!("tenant" in {mine}) || {mine}.tenant == "{tenant}"'
        is_mig = one.attributes.get(_TYPE) == "mig"
        attributes = {**one.attributes, _TENANT: tenant} if is_mig else one.attributes
        devices.append(replace(one, attributes=attributes, only_with=told if is_mig else None))
    return replace(dgx.pool(), devices=tuple(devices))


_FAMILIES: Final = (
    _Family(
        name="SamePCIe, four claims",
        pool=_plain_pool,
        claims=[_same_pcie(1, 1), _same_pcie(1, 2), _same_pcie(2, 2)],
        may_hold=_is("gpu", "nic", "vf"),
        median_ns=300 * US,
        worst_ns=5 * MS,
    ),
    _Family(
        name="admin access beside four claims, 32 GPUs",
        pool=_four_times,
        claims=[
            _watched(_option("z", "mig", admin=True)),
            _watched(_option("z", "gpu", count=8, admin=True)),
        ],
        may_hold=_is("gpu", "mig"),
        median_ns=500 * US,
        worst_ns=10 * MS,
    ),
    _Family(
        name="all devices beside four claims, 32 GPUs",
        pool=_four_times,
        claims=[
            _watched(_option("z", "mig", count=None, profile="7g.40gb", admin=True)),
            _watched(_option("z", "nic")),
        ],
        may_hold=_is("mig"),
        median_ns=500 * US,
        worst_ns=10 * MS,
    ),
    _Family(
        name="shareable devices with capacity",
        pool=_shared_nics,
        claims=[_sharing(1, 50), _sharing(4, 100), _sharing(8, 60)],
        may_hold=_is("gpu", "nic"),
        median_ns=300 * US,
        worst_ns=5 * MS,
    ),
    _Family(
        name="compatibleOnlyWith",
        pool=_with_partners,
        claims=[_partners(1), _partners(4), _partners(8)],
        may_hold=_is_of_tenant_a,
        median_ns=300 * US,
        worst_ns=5 * MS,
    ),
)


def searching(settings: Settings) -> Report:
    """Time claims that the tables do not cover."""
    rows: list[Row] = []
    for family in _FAMILIES:
        settings.say(family.name)
        rows += _measured(family, settings)
    return Report(name="B11", title="what the tables do not cover, one DGX A100", rows=tuple(rows))


def _measured(family: _Family, settings: Settings) -> list[Row]:
    pool, chance = family.pool(settings.dgx), Random(_SEED)
    classes = [decode_class(one) for one in CLASSES]
    engine = Engine(ClusterState({one.name: one for one in classes}), FIRST_FIT)
    engine.state.set_pool(pool)
    held = _Held(engine, pool, [one for one in pool.devices if family.may_hold(one)], chance)
    for claims in family.claims:
        engine.decide(claims, Node(NODE))
    took: list[int] = []
    answers: Counter[str] = Counter()
    for number in range(settings.count or _COUNT):
        held.change()
        started = perf_counter_ns()
        answer = engine.decide(family.claims[number % len(family.claims)], Node(NODE))
        took.append(perf_counter_ns() - started)
        kind = (
            "undecided"
            if isinstance(answer, Undecided)
            else "fit"
            if isinstance(answer, Allocation)
            else "do not"
        )
        answers[kind] += 1
        answers["searched"] += engine.answered_by.solver is not Solver.TABLES
    note = ", ".join(f"{count} {kind}" for kind, count in sorted(answers.items()))
    worst = Row(case=f"{family.name}: worst", unit=Unit.NANOSECONDS, median=max(took), must=family.worst_ns)
    return [times(family.name, took, family.median_ns, note), worst]


class _Held:
    """What is held of a node: changed at random before every question."""

    def __init__(self, engine: Engine, pool: Pool, devices: Sequence[Device], chance: Random) -> None:
        self._engine = engine
        self._pool = pool
        self._devices = devices
        self._chance = chance
        self._held: list[ClaimRef] = []
        self._made = 0
        while len(self._held) < self._most:
            self._hold()

    @property
    def _most(self) -> int:
        return max(1, round(len(self._devices) * _SHARE / 8))

    def change(self) -> None:
        """Release a tenth of what is held, at least one, and hold as many other devices."""
        for _ in range(max(1, len(self._held) // 10)):
            self._engine.state.release(self._held.pop(self._chance.randrange(len(self._held))))
        while len(self._held) < self._most:
            self._hold()

    def _hold(self) -> None:
        self._made += 1
        ref, device = ClaimRef("bench", f"held-{self._made}"), self._chance.choice(self._devices)
        result = AllocatedDevice("r", self._pool.id_of(device))
        if device.is_shareable:
            amount = Quantity.of(self._chance.randrange(10, 60) * _GIGABIT)
            result = replace(result, share_id=str(self._made), consumed={"bandwidth": amount})
        self._engine.state.hold(AllocatedClaim(ref=ref, results=(result,)))
        self._held.append(ref)
