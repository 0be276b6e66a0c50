"""What was decided about a pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.decide.amounts import Made
from controller.decide.question import Question, Wanted
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, DeviceClass
from scheduler_core.model.result import Allocation


@dataclass(frozen=True, slots=True)
class Placed:
    """The pod gets devices on a node.

    Shape: ``claims`` are those of the question that get devices, ``answer`` has them, None where there are
           none; others match no device of ours and are left to kube-scheduler. ``made`` is the claim for the
           pod's amounts, None without; ``classes`` are the device classes whose configuration it gets.
           ``solver`` says which solver answered.
    """

    question: Question
    node: str
    answer: Allocation | None
    claims: tuple[Wanted, ...]
    solver: str
    made: Made | None = None
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)

    @property
    def devices(self) -> Mapping[ClaimRef, tuple[AllocatedDevice, ...]]:
        """Return the devices by claim."""
        results = {} if self.answer is None else self.answer.results
        found = {one.asked.ref: results[one.asked.ref] for one in self.claims}
        if self.made is not None and self.question.amounts is not None:
            made = tuple(one for request in self.made.requests for one in request.results)
            found[self.question.amounts.ref] = made
        return found


@dataclass(frozen=True, slots=True)
class Served:
    """Nothing is left to allocate: only the gate may have to go."""

    question: Question


@dataclass(frozen=True, slots=True)
class Refused:
    """The claims fit on no node that the pod may run on, in the state of the cluster when it was asked.

    Shape: ``nodes`` say why, for a pod that asks by amounts; else why is found out when it is told.
    """

    question: Question
    nodes: Mapping[str, JointRefusal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NotOurs:
    """No device of ours matches any claim. Shape: ``why`` is a sentence for pods that wait at our gate."""

    question: Question
    why: str


@dataclass(frozen=True, slots=True)
class Wrong:
    """The pod's claims cannot be answered as they are. Shape: ``why`` is a sentence."""

    question: Question
    why: str


@dataclass(frozen=True, slots=True)
class NotTogether:
    """The pod's group does not get devices, so none of its members does.

    Shape: ``why`` is a sentence; ``nowhere`` a member that fits on no node even alone, None where the
           members do not fit together.
    """

    question: Question
    why: str
    nowhere: Question | None = None


Decision = Placed | Served | Refused | NotOurs | Wrong | NotTogether
