"""The pods that wait for devices, and why each does. Takes what is known of a cluster; returns values.

Pods of the controller have the reason that it gives them; for all others the core is asked, as if their
claims were decided about now. Nothing is decided or kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from controller.model.pods import Pod
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.advice.advise import advise
from scheduler_core.advice.refused_nodes import refused_nodes
from scheduler_core.advice.sentences import remedy_text
from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim, ClaimRef

_ASKED: Final = 100
"""So many different shapes of pods are asked about; the others say how to ask."""
_ADVISED: Final = 10
"""For so many of them it is found out what would help: that takes many questions."""
_TRIED: Final = 16
"""Nodes on which it is tried what would help."""


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod that waits.

    Shape: ``since`` as the API server writes it; ``reason`` one sentence; ``details`` more of them.
    """

    namespace: str
    name: str
    since: str
    reason: str
    details: tuple[str, ...] = ()


def waiting_pods(seen: ClusterSeen, engine: Engine, told: Mapping[str, str]) -> tuple[WaitingPod, ...]:
    """Return the pods that wait for devices, the oldest first.

    Shape: ``told`` has reasons that are known already, by UID of the pod.
    """
    answers: dict[tuple[str, ...], tuple[str, ...]] = {}
    found = []
    for pod in sorted(seen.waiting.values(), key=lambda one: (one.created, one.ref)):
        if pod.is_leaving or not (pod.claims or pod.is_gated):
            continue
        claims, missing = _claims(pod, seen)
        if not (claims or missing or pod.is_gated):
            continue  # it has its devices, and waits for something else
        details: tuple[str, ...] = (f"claim {missing[0]} does not exist yet",) if missing else ()
        if claims and not missing:
            shape = tuple(sorted(seen.claims[one.ref].shape for one in claims))
            if shape not in answers and len(answers) < _ASKED:
                is_first = len(answers) < _ADVISED
                answers[shape] = tuple(_reasons(claims, seen, engine, advises=is_first))
            asking = f"tangram explain pod/{pod.ref.name} -n {pod.ref.namespace} says why"
            details = answers.get(shape, (asking,))
        known = told.get(pod.uid) or pod.problem or pod.told
        reason = known or next(iter(details), "the controller has not decided yet")
        rest = tuple(one for one in details if one != reason)
        found.append(WaitingPod(pod.ref.namespace, pod.ref.name, pod.created, reason, rest))
    return tuple(found)


def _claims(pod: Pod, seen: ClusterSeen) -> tuple[list[Claim], list[str]]:
    """Return the claims of a pod that have no devices yet, and the names of those that do not exist."""
    asked, missing = [], []
    for one in pod.claims:
        known = seen.claims.get(ClaimRef(pod.ref.namespace, one.claim)) if one.claim else None
        if known is None:
            missing.append(one.claim or one.name)
        elif known.asked is not None:
            asked.append(known.asked)
    return asked, missing


def _reasons(claims: list[Claim], seen: ClusterSeen, engine: Engine, *, advises: bool) -> Iterator[str]:
    """Yield why claims get no devices, nodes with the same reason together, and then what would help."""
    nodes = [seen.devices.views.node(name) for name in seen.devices.views.names]
    if not nodes:
        yield "no node publishes devices"
        return
    try:
        free = next((one.name for one in nodes if engine.fits(claims, one) is True), None)
        if free is not None:
            yield f"node {free} has its devices free: they are not allocated yet"
            return
        groups = refused_nodes(claims, engine, nodes)
    except CoreError as error:
        yield str(error)
        return
    for group in groups:
        count = "1 node" if len(group.nodes) == 1 else f"{len(group.nodes)} nodes"
        yield f"{count}: {group.why} (node {group.nodes[0]})"
    if advises and groups:
        closest = sorted(nodes, key=lambda one: one.name != groups[0].nodes[0])
        for remedy in advise(claims, engine, closest[:_TRIED]):
            yield f"to make it fit: {remedy_text(remedy)}"
