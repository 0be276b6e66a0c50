"""Chooses the node and the devices of a pod that asks for devices by amounts, also with claims beside them.

Takes a pod's question; returns devices of the first node in order that has them, or what each node lacks.
Nothing is held: the caller enters the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Final

from scheduler_core.base.limits import RESULTS
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.placement.beside import Beside, devices_beside
from scheduler_core.frontends.placement.node_order import FreeGpuOrder
from scheduler_core.frontends.placement.refusals import Refusal, Refusals, RefusalsOfAsk
from scheduler_core.frontends.pods.hints import GPU
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import PodAsk
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Cause, Undecided
from scheduler_core.state.cluster_state import ClusterState

Admits = Callable[[Node], bool]
_NO_CLAIM: Final = "the pod's claims do not fit there"
_NOT_TOGETHER: Final = "the pod's amounts and its claims fit one by one, but no choice of both was found"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedPod:
    """The devices of a pod on one node. Shape: ``beside`` are those of its claims, None without claims."""

    placed: PlacedPod
    beside: Allocation | None = None

    @property
    def node(self) -> str:
        """Return the name of the node."""
        return self.placed.node


@dataclass(frozen=True, slots=True, kw_only=True)
class NoNode:
    """No node has the devices.

    Shape: ``refused`` by node, in the order of trying, without nodes that the caller does not admit;
           ``undecided`` are nodes of which it is not known. Details say what is missing and not who holds it:
           ``PodPlacer.place`` says that of a single node.
    """

    refused: Mapping[str, JointRefusal] = field(default_factory=dict)
    undecided: tuple[Undecided, ...] = ()


class PodDecider:
    """Chooses nodes for pods in the state that ``engine`` has when it is asked. One thread at a time."""

    def __init__(self, engine: Engine) -> None:
        self.state: ClusterState = engine.state
        self.placer = PodPlacer(engine.state)
        self._engine = engine
        self._order = FreeGpuOrder(self.placer)
        self._refusals = Refusals(engine.state)

    def decide(
        self,
        ask: PodAsk,
        admits: Admits,
        tables: Mapping[str, NodeTable],
        claims: Sequence[Claim] = (),
    ) -> DecidedPod | NoNode:
        """Return the devices of a pod and of its other claims, all on one node, or what each node lacks.

        Nodes with the fewest free GPUs are tried first. ``admits`` says whether the pod may run on a node
        otherwise; it is asked only of nodes that may have the devices.
        Raises: as ``Engine.allocate``, for the claims.
        """
        answers: dict[str, Refusal] = {}
        known, least = self._refusals.of(ask), _whole_gpus(ask)
        enough, too_few = self._order.split(least)
        for name in enough:
            table = tables.get(name)
            answer = known.get(name, table)
            if answer is None:
                node = self.state.views.node(name)
                if not admits(node):
                    continue
                found = self._answer(ask, claims, node, table, known)
                if isinstance(found, DecidedPod):
                    return found
                answer = found
            answers[name] = answer
        return _no_node({name: _too_few(least, *self._order.gpus(name)) for name in too_few} | answers)

    def _answer(
        self,
        ask: PodAsk,
        claims: Sequence[Claim],
        node: Node,
        table: NodeTable | None,
        known: RefusalsOfAsk,
    ) -> DecidedPod | Refusal:
        """Return what a node answers. That it lacks devices for the amounts alone is remembered."""
        placed = self._placed(ask, node, table)
        if isinstance(placed, PlacedPod):
            return self._with_claims(ask, placed, claims, node, table)
        known.keep(node.name, table, placed)
        return placed

    def _placed(self, ask: PodAsk, node: Node, table: NodeTable | None) -> PlacedPod | Refusal:
        found = self.placer.answer(ask, node, table)
        if isinstance(found, PlacedPod) and found.size > RESULTS:
            kind = next(iter(ask.asks))
            detail = f"{found.size} devices are asked for; a claim has at most {RESULTS}"
            return JointRefusal(kind, Cause.TOO_MANY_DEVICES, detail)
        return found

    def _with_claims(
        self,
        ask: PodAsk,
        placed: PlacedPod,
        claims: Sequence[Claim],
        node: Node,
        table: NodeTable | None,
    ) -> DecidedPod | Refusal:
        if not claims:
            return DecidedPod(placed=placed)
        found = devices_beside(ask, placed, claims, Beside(self._engine, self.placer, node, table))
        match found:
            case (PlacedPod() as chosen, Allocation() as beside):
                return DecidedPod(placed=chosen, beside=beside)
            case Undecided():
                return found
            case _:
                detail = _NOT_TOGETHER if self._engine.decide(claims, node) is not None else _NO_CLAIM
                return JointRefusal(next(iter(ask.asks)), Cause.CONSTRAINT_UNSATISFIED, detail)


@lru_cache(maxsize=1024)
def _too_few(least: int, free: int, total: int) -> JointRefusal:
    """Return the refusal of a node that has too few free GPUs, whatever else it has."""
    if not total:
        return JointRefusal(GPU, Cause.NO_MATCHING_DEVICE, "the node has no matching gpu")
    cause = Cause.INSUFFICIENT if least <= total else Cause.NO_MATCHING_DEVICE
    return JointRefusal(GPU, cause, f"{least} needed, {free} of {total} free")


def _no_node(answers: Mapping[str, Refusal]) -> NoNode:
    return NoNode(
        refused={name: one for name, one in answers.items() if isinstance(one, JointRefusal)},
        undecided=tuple(one for one in answers.values() if isinstance(one, Undecided)),
    )


def _whole_gpus(ask: PodAsk) -> int:
    """Return how many whole GPUs a node must have free."""
    gpus = ask.asks.get(GPU)
    return gpus.count or 0 if gpus is not None and not gpus.is_shared else 0
