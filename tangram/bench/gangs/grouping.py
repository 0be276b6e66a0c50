"""B14: groups whose members get devices together or not at all, on many nodes.

A third of the nodes are free, the others are in use by 60 %. Each group is asked again and again; nothing is
held between the questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import Final

from scheduler_core.codec.claims import decode_claim
from scheduler_core.engine.together.decide import decide_together
from scheduler_core.engine.together.values import GroupMember, Placed, Unfit
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Undecided
from tangram.bench.cluster import Filled, filled, small_claim, the_claim
from tangram.bench.machine import GPUS
from tangram.bench.objects import claim as claim_document
from tangram.bench.objects import wanted
from tangram.bench.report import MS, Report, Row, times
from tangram.bench.settings import Settings

_NODES: Final = 1000
_MEMBERS: Final = 64
_SAMPLES: Final = 5
_PODS_PER_NODE: Final = 110
_MUST_NS: Final = 500 * MS
_MIXED_MUST_NS: Final = 1000 * MS


class _PodCount:
    """Room for so many pods on each node."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def admits(self, member: GroupMember, node: Node) -> bool:  # noqa: ARG002 - all members need the same
        """Whether the node takes one more pod."""
        return self._taken.get(node.name, 0) < _PODS_PER_NODE

    def take(self, member: GroupMember, node: Node) -> None:  # noqa: ARG002
        """Count one pod more."""
        self._taken[node.name] = self._taken.get(node.name, 0) + 1

    def give(self, member: GroupMember, node: Node) -> None:  # noqa: ARG002
        """Count one pod less."""
        self._taken[node.name] -= 1


def grouping(settings: Settings) -> Report:
    """Time the questions about groups of several kinds."""
    count = settings.nodes or _NODES
    cluster = filled(settings, count)
    free = _freed(cluster)
    size = min(settings.count or _MEMBERS, free)
    whole, all_gpus = _gpus(1), _gpus(GPUS)
    rows = (
        _row(cluster, f"{size} members of {GPUS} GPUs", _group([all_gpus] * size), fits=True),
        _row(cluster, f"{size} members of 1 GPU", _group([whole] * size), fits=True),
        _row(cluster, f"{size} members of KEP-4815's claim", _group([the_claim()] * size), fits=True),
        _row(
            cluster,
            "3 kinds of members, a third each",
            _group([(all_gpus, whole, small_claim())[number % 3] for number in range(size)]),
            fits=True,
            must_ns=_MIXED_MUST_NS,
        ),
        _row(cluster, f"{count + 1} members of {GPUS} GPUs", _group([all_gpus] * (count + 1)), fits=False),
    )
    return Report(name="B14", title=f"groups on {count} nodes, {free} of them free", rows=rows)


def _freed(cluster: Filled) -> int:
    """Give back all devices of every third node, and return how many nodes that are."""
    free = {node.name for node in cluster.nodes[::3]}
    for held in cluster.held:
        if held.ref.namespace in free:
            cluster.engine.state.release(held.ref)
    return len(free)


def _gpus(count: int) -> Claim:
    asked = {"name": "r0", "exactly": wanted("gpu.tangram.dev", None, count)}
    return decode_claim(claim_document("gpus", [asked]))


def _group(claims: Sequence[Claim]) -> list[GroupMember]:
    """Return a group with one member for each claim, which gets a name of its own."""
    return [
        GroupMember(id=f"pod-{number}", claims=(replace(claim, ref=ClaimRef("group", f"pod-{number}")),))
        for number, claim in enumerate(claims)
    ]


def _row(
    cluster: Filled, case: str, members: Sequence[GroupMember], *, fits: bool, must_ns: int = _MUST_NS
) -> Row:
    found, room = [], _PodCount()
    for _ in range(_SAMPLES):
        start = perf_counter_ns()
        answer = decide_together(cluster.engine, members, room, cluster.nodes)
        found.append(perf_counter_ns() - start)
        assert isinstance(answer, tuple) is fits, answer
    return times(case, found, must_ns, _note(answer))


def _note(answer: tuple[Placed, ...] | Undecided | Unfit) -> str:
    if not isinstance(answer, tuple):
        return str(answer)
    return f"on {len({placed.allocation.node for placed in answer})} nodes"
