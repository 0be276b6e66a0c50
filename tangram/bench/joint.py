"""B8: GPUs with NICs below the same switches, on nodes half of whose devices are taken at random.

The front end places each pod and is timed. Its answer is checked against every possible choice of GPUs. It is
compared with the rule of Koordinator's scheduler, which chooses GPUs first and NICs afterwards: the pods that
fit and that this rule refuses are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from random import Random
from time import perf_counter_ns
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.pods.hints import GPU, RDMA
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk, ask_of
from scheduler_core.frontends.pods.reported import ReportedDevice, ReportedUse, held, pool_of
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState
from tangram.bench.report import MS, Report, Row, Unit, times
from tangram.bench.settings import Settings

_NODE: Final = Node("node-1")
_DEVICES: Final = 8
_COUNT: Final = 200
_WANTED: Final = (1, 2, 3, 4)
_SEED: Final = 8
_LAYOUTS: Final = {"8 switches of 1 + 1": 1, "4 switches of 2 + 2": 2}
"""Devices of each type below one switch; four of eight stand in one NUMA node."""
_WHOLE: Final = {"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory-ratio": 100}
_MUST_NS: Final = MS // 5
_JOINT: Final = {"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}


@dataclass(frozen=True, slots=True)
class _Instance:
    """A node and a pod. Shape: ``gpus`` and ``nics`` are the minors that are free."""

    per_switch: int
    gpus: Sequence[int]
    nics: Sequence[int]
    count: int

    def switch(self, minor: int) -> int:
        return minor // self.per_switch

    @property
    def fits(self) -> bool:
        """Whether any choice of GPUs has a free NIC below each of its switches."""
        with_nic = {self.switch(minor) for minor in self.nics}
        some = combinations(self.gpus, self.count)
        return any({self.switch(minor) for minor in one} <= with_nic for one in some)

    @property
    def fits_greedily(self) -> bool:
        """Whether the GPUs that are chosen without regard to NICs happen to have them."""
        chosen = self._chosen()
        return chosen is not None and {self.switch(one) for one in chosen} <= {
            self.switch(minor) for minor in self.nics
        }

    def _chosen(self) -> Sequence[int] | None:
        """Return the GPUs of the deepest scope that has enough, a part-used one first, lowest minors."""
        for size in (self.per_switch, _DEVICES // 2, _DEVICES):
            scopes = [range(start, start + size) for start in range(0, _DEVICES, size)]
            free = [[minor for minor in scope if minor in self.gpus] for scope in scopes]
            enough = [mine for mine in free if len(mine) >= self.count]
            if enough:
                return min(enough, key=lambda mine: (len(mine) == size, mine[0]))[: self.count]
        return None


def joining(settings: Settings) -> Report:
    """Count wrong answers and false refusals, and time each answer."""
    rows: list[Row] = []
    wrong: list[str] = []
    for case, per_switch in _LAYOUTS.items():
        settings.say(case)
        instances = _instances(per_switch, settings.count or _COUNT)
        placer = PodPlacer(_state(per_switch))
        spent = []
        for one in instances:
            ask = _ask(one.count)
            with _held(placer.state, one):
                started = perf_counter_ns()
                found = placer.place(ask, _NODE)
                spent.append(perf_counter_ns() - started)
            if isinstance(found, PlacedPod) != one.fits:
                wrong.append(f"{case}: {one}: whether it fits is {one.fits}, the answer is {found}")
        fitting = [one for one in instances if one.fits]
        refused = sum(not one.fits_greedily for one in fitting)
        rows.append(times(f"{case}, a pod", spent, _MUST_NS, f"{len(fitting)} of {len(instances)} fit"))
        share = 100 * refused / max(1, len(fitting))
        note = f"{refused} of {len(fitting)} pods that fit"
        rows.append(Row(case=f"{case}, refused by GPUs first", unit=Unit.PERCENT, median=share, note=note))
    return Report(
        name="B8", title="GPUs and NICs below the same switches", rows=tuple(rows), wrong=tuple(wrong)
    )


def _instances(per_switch: int, count: int) -> list[_Instance]:
    random = Random(_SEED)
    found = []
    for number in range(count):
        gpus, nics = (sorted(random.sample(range(_DEVICES), _DEVICES // 2)) for _ in range(2))
        found.append(_Instance(per_switch, gpus, nics, _WANTED[number % len(_WANTED)]))
    return found


def _state(per_switch: int) -> ClusterState:
    """Return a state that knows the node, nothing of which is in use."""
    state = ClusterState()
    state.set_pool(pool_of(_NODE.name, _devices(per_switch)))
    return state


@contextmanager
def _held(state: ClusterState, instance: _Instance) -> Iterator[None]:
    """Hold what is not free, while the block runs."""
    devices, free = _devices(instance.per_switch), {GPU: instance.gpus, RDMA: instance.nics}
    uses = [ReportedUse(kind=one.kind, minor=one.minor) for one in devices if one.minor not in free[one.kind]]
    claims = held(_NODE.name, uses, devices)
    for claim in claims:
        state.hold(claim)
    yield
    for claim in claims:
        state.release(claim.ref)


def _devices(per_switch: int) -> list[ReportedDevice]:
    return [_device(kind, minor, per_switch) for kind in (GPU, RDMA) for minor in range(_DEVICES)]


def _device(kind: str, minor: int, per_switch: int) -> ReportedDevice:
    return ReportedDevice(
        kind=kind,
        minor=minor,
        pcie=str(minor // per_switch),
        numa=minor * 2 // _DEVICES,
        total=_WHOLE if kind == GPU else {"koordinator.sh/rdma": 100},
    )


def _ask(count: int) -> PodAsk:
    requests = {"nvidia.com/gpu": count, "koordinator.sh/rdma": 1}
    return ask_of("Pod bench", requests, {"device-joint-allocate": _JOINT})
