"""Why a pod waits, in one sentence. Takes a decision; returns text, empty where it is not our business."""

from __future__ import annotations

from collections.abc import Mapping

from controller.decide.allocator import Allocator
from controller.decide.decisions import Decision, NotOurs, NotTogether, Placed, Refused, Served, Wrong
from controller.decide.question import Question
from controller.decide.reasons import reason_of
from controller.queue.waiting_line import Order
from controller.run.held_back import HeldBack
from scheduler_core.base.errors import CoreError
from scheduler_core.frontends.joint.choose import JointRefusal


def why_waits(
    decision: Decision,
    allocator: Allocator,
    against: Mapping[str, Mapping[str, str]],
    held_back: HeldBack,
) -> str:
    """Return why a pod waits. Shape: ``against`` are, by the UID of a pod, nodes that will not do for it."""

    def reason(question: Question, refused: Mapping[str, JointRefusal]) -> str:
        pod = question.pod
        reserved = held_back.nodes(Order.of(pod.priority, pod.created, pod.uid))
        try:
            return reason_of(question, allocator, against.get(pod.uid, {}), reserved, refused)
        except CoreError as error:
            return str(error)

    match decision:
        case Refused(question=question, nodes=nodes):
            return reason(question, nodes)
        case NotTogether(why=why, nowhere=nowhere):
            return why if nowhere is None else f"{why}. {reason(nowhere, {})}"[:1024]
        case NotOurs(why=why) | Wrong(why=why):
            return why if decision.question.pod.is_gated else ""
        case Placed() | Served():
            return ""
