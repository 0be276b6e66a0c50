"""A claim of a cluster, explained as whoever gives it devices decides: kube-scheduler or the controller.

A pod at the controller's gate waits for the controller alone, which decides about all claims of a pod
together: such a claim has the answer of its pod. Otherwise both are asked as they see the devices.
"""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING, Protocol

from rich.console import RenderableType

from scheduler_core.model.claim import AllocatedClaim
from tangram.allocation_input import AllocationInput
from tangram.cluster_question import ClaimFound, find_claim, read_question
from tangram.errors import BadInput, Unreachable
from tangram.explaining.allocators import turn_of
from tangram.explaining.claim_users import users_of
from tangram.face import Face
from tangram.pictures.held import held_picture
from tangram.policies import FIRST_FIT
from tangram.preparable import driver_of
from tangram.program.fitting import Hanging
from tangram.told import Told

if TYPE_CHECKING:  # the controller takes long to load, and only a pod at its gate needs it
    from controller.model.pods import Pod


class Answering(Protocol):
    """Answers questions."""

    def __call__(self, asked: AllocationInput, policy: str, held: AllocatedClaim | None) -> Told:
        """Return the answer by a policy. Shape: ``held`` is what the claim has. Raises: BadInput."""
        ...


def claim_told(options: Namespace, face: Face, answer: Answering) -> Told:
    """Explain the claim that the options name. Raises: BadInput."""
    found = find_claim(options, face)
    if found.held is not None:
        told = answer(read_question(found, options.node_name), options.policy or FIRST_FIT, found.held)
        return _after(told, held_picture(found.held))
    users = users_of(found.ref, found.cluster)
    pod, left = users.at_gate, ""
    if pod is not None and options.policy is None:
        of_pod = _as_its_pod(found, pod, options, face.out.width)
        if isinstance(of_pod, Told):
            return of_pod
        left = of_pod
    turn = turn_of(read_question(found, options.node_name), users)
    told = answer(turn.asked, options.policy or turn.policy, None)
    notes = [Hanging(note) for note in (left, turn.note) if note]
    told = Told(told.status, {**told.value, **turn.value}, told.pictures)
    return _after(told, *notes, "") if notes else told


def _as_its_pod(found: ClaimFound, pod: Pod, options: Namespace, width: int) -> Told | str:
    """Return what the controller decides for the pod at its gate; a sentence where it leaves it alone."""
    from tangram.controlled.answer import PodAnswer, State  # noqa: PLC0415 - see above
    from tangram.controlled.reading import read_controlled  # noqa: PLC0415
    from tangram.explaining.pod_in_cluster import answer_told, pod_explained  # noqa: PLC0415

    try:
        coordinator = read_controlled(found.cluster, driver_of(options), time.time())
    except Unreachable:
        raise
    except BadInput as error:  # without the right to list what the controller reads
        return f"pod {pod.ref} waits for the controller, whose answer is not known: {error}"
    answer = pod_explained(coordinator, pod, options.why_not or options.node_name, width)
    if isinstance(answer, PodAnswer):
        if answer.state is State.LEFT:
            return f"pod {pod.ref} waits at the controller's gate, and {answer.state}: {answer.reason}"
        told = answer_told(answer)
    else:
        told = answer
    head = Hanging(
        f"claim {found.ref} waits for the controller, which allocates all claims of a pod together"
    )
    return _after(Told(told.status, {"claim": str(found.ref), **told.value}, told.pictures), head, "")


def _after(told: Told, *before: RenderableType | str) -> Told:
    return Told(told.status, told.value, (*before, *told.pictures))
