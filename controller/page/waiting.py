"""The pods that wait for devices, and why each does. Takes what is known of a cluster; returns values.

Pods of the controller have the reason that it gives them; for all others the core is asked, as if their
claims were decided about now. Nothing is decided or kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from controller.model.pods import Pod
from controller.state.cluster_seen import ClusterSeen
from scheduler_core.base.errors import CoreError
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.result import Answer, Unallocatable

_ASKED: Final = 100
"""So many different shapes of pods are asked about; the others say how to ask."""
_EXPLAINED: Final = 16
"""Nodes of which the reasons are found: one takes milliseconds."""


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
                answers[shape] = tuple(_reasons(claims, seen, engine))
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


def _reasons(claims: list[Claim], seen: ClusterSeen, engine: Engine) -> Iterator[str]:
    """Yield why claims get no devices: nodes with the same reason are counted together."""
    nodes = [seen.devices.views.node(name) for name in seen.devices.views.names]
    try:
        free = next((one.name for one in nodes if engine.fits(claims, one) is True), None)
        if free is not None:
            yield f"node {free} has its devices free: they are not allocated yet"
            return
        yield from _grouped([engine.allocate(claims, one) for one in nodes[:_EXPLAINED]], len(nodes))
    except CoreError as error:
        yield str(error)


def _grouped(answers: Sequence[Answer], count: int) -> Iterator[str]:
    if not count:
        yield "no node publishes devices"
    examples: dict[object, tuple[str, str]] = {}
    counted: Counter[object] = Counter()
    for one in answers:
        first = one.reasons[0] if isinstance(one, Unallocatable) else None
        key = (first.claim, first.request, first.cause) if first else None
        counted[key] += 1
        text = f"claim {first.claim} request {first.request}: {first.detail}" if first else str(one)
        examples.setdefault(key, (one.node, text))
    for alike, found in counted.most_common():
        name, text = examples[alike]
        yield f"{'1 node' if found == 1 else f'{found} nodes'}: {text} (node {name})"
    if count > len(answers):
        yield f"{count - len(answers)} more nodes do not have them either"
