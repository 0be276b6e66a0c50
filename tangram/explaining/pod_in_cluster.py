"""A pod of a cluster, explained: what the controller gives it now, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.model.pods import Pod
from controller.run.coordinator import Coordinator
from scheduler_core.base.errors import CoreError
from tangram.controlled.answer import PodAnswer, State, answer_for, has_devices
from tangram.errors import BadInput
from tangram.explaining.controlled_pod import why_not_in_cluster
from tangram.explaining.remedies import remedies_value
from tangram.face import DOES_NOT_FIT, DONE
from tangram.pictures.pod_answer import answer_picture
from tangram.plain import plain
from tangram.told import Told


def pod_explained(coordinator: Coordinator, pod: Pod, wanted: str | None, width: int) -> Told | PodAnswer:
    """Return what the controller gives a pod, or what keeps it from a node or device that is wanted.

    Shape: ``coordinator`` has read the cluster; ``width`` of the terminal in columns.
    Raises: BadInput.
    """
    if pod.node:
        return has_devices(coordinator, pod, pod.node)
    if wanted is not None:
        return _why_not(wanted, coordinator, pod, width)
    return answer_for(coordinator, coordinator.seen.waiting.get(pod.uid, pod))


def answer_told(answer: PodAnswer) -> Told:
    """Return an answer as it is printed."""
    status = DONE if answer.state in (State.PLACED, State.HAS_DEVICES) else DOES_NOT_FIT
    return Told(status, _value(answer), (answer_picture(answer),))


def _why_not(wanted: str, coordinator: Coordinator, pod: Pod, width: int) -> Told | PodAnswer:
    known = coordinator.seen.waiting.get(pod.uid, pod)
    try:
        return why_not_in_cluster(wanted, coordinator, known, width)
    except CoreError as error:
        raise BadInput(f"pod {pod.ref}: {error}") from error


def _value(answer: PodAnswer) -> Mapping[str, Any]:
    """Return an answer for programs."""
    found: dict[str, Any] = plain(replace(answer, refusal=None, remedies=(), amounts=None))
    del found["refusal"], found["amounts"]
    remedies = answer.remedies if answer.amounts is None else answer.amounts.remedies
    funnels: object = () if answer.refusal is None else answer.refusal.funnels
    if answer.amounts is not None:
        funnels = answer.amounts.funnels
    found["others"] = plain(answer.others.nodes)
    found["notExplained"] = list(answer.others.rest)
    told = {"funnels": plain(funnels), "remedies": remedies_value(remedies)}
    return {**found, "pod": str(answer.pod), **told}
