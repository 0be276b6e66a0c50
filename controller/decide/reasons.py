"""Why a pod gets no devices, over all nodes: nodes with the same reason are counted together.

Takes a question; returns groups of nodes, or one sentence. Explaining one node takes milliseconds, so only
some of the nodes that could run the pod are explained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from controller.decide.allocator import Allocator
from controller.decide.amounts import CLASSES
from controller.decide.question import Question
from scheduler_core.frontends.classes.claims import class_claim
from scheduler_core.frontends.joint.choose import JointRefusal
from scheduler_core.model.claim import Claim
from scheduler_core.model.result import Unallocatable, Undecided
from scheduler_core.model.sentences import decisive_text

_EXPLAINED: Final = 16
_SHOWN: Final = 6
_LONGEST: Final = 1024
_NOT_THERE: Final = "the devices cannot be had"
_NO_NODES: Final[Mapping[str, JointRefusal]] = {}
HELD_BACK: Final = "held devices back for pods that wait longer"
"""Why a pod may not use a node that could run it, as ``NodesAlike.why``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesAlike:
    """Nodes that will not do for the same reason.

    Shape: ``why`` goes on after the count, "1 node ..." or "2 nodes ...", where the pod may not run there
           now; where it may, ``example`` names one of the nodes, and ``why`` is a sentence that says what is
           lacking there.
    """

    count: int
    why: str
    example: str = ""

    def __str__(self) -> str:
        if not self.example:
            return f"{_nodes(self.count)} {self.why}"
        if self.count == 1:
            return f"on node {self.example} {self.why}"
        return f"on {_nodes(self.count)} (such as {self.example}) {self.why}"


def reason_of(
    question: Question,
    allocator: Allocator,
    against: Mapping[str, str],
    reserved: Set[str] = frozenset(),
    refused: Mapping[str, JointRefusal] = _NO_NODES,
) -> str:
    """Return why the claims fit on no node, in at most 1024 characters.

    Shape: as ``groups_of``. It begins as kube-scheduler's reasons do, which people know.

    Raises: CoreError for claims that are wrong.
    """
    parts = list(map(str, groups_of(question, allocator, against, reserved, refused)))
    if not parts:
        return f"no node has devices of driver {allocator.seen.driver}"
    total = len(allocator.seen.devices.views.names)
    text = f"0/{total} nodes with devices are available: {'; '.join(parts[:_SHOWN])}"
    if len(parts) > _SHOWN:
        text += f"; {len(parts) - _SHOWN} more reasons"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def groups_of(
    question: Question,
    allocator: Allocator,
    against: Mapping[str, str],
    reserved: Set[str] = frozenset(),
    refused: Mapping[str, JointRefusal] = _NO_NODES,
) -> tuple[NodesAlike, ...]:
    """Return why no node will do: first the nodes that lack devices, then those that the pod may not use.

    Shape: the most frequent reasons first; ``against`` and ``reserved`` as ``Candidates.admitting``;
           ``refused`` what was found out by node when it was decided.

    Raises: CoreError for claims that are wrong.
    """
    able, others = unusable(question, allocator, against, reserved)
    if question.amounts is not None and (question.amounts.asked.ask is not None or refused):
        return (*_counted(refused, able), *others)
    return (*_device_reasons(_claims(question, allocator), able, allocator), *others)


def unusable(
    question: Question, allocator: Allocator, against: Mapping[str, str], reserved: Set[str] = frozenset()
) -> tuple[tuple[str, ...], tuple[NodesAlike, ...]]:
    """Return the nodes on which the pod may run, and why it may not run on the others. Shape: as above."""
    found: Counter[str] = Counter()
    able: list[str] = []
    for name in allocator.seen.devices.views.names:
        why = allocator.candidates.why_not(question, name, against)
        if why is None and name in reserved:
            why = HELD_BACK
        if why is None:
            able.append(name)
        else:
            found[why] += 1
    return tuple(able), tuple(NodesAlike(count=count, why=why) for why, count in found.most_common())


def _claims(question: Question, allocator: Allocator) -> list[Claim]:
    """Return the claims of ours, and one for amounts of resource classes."""
    claims = [one.asked for one in allocator.ours(question)]
    if question.amounts is not None and question.amounts.asked.classes:
        claims.append(class_claim(CLASSES, question.amounts.asked.classes))
    return claims


def _counted(refused: Mapping[str, JointRefusal], able: Sequence[str]) -> list[NodesAlike]:
    """Return the reasons of the nodes that could run the pod, the most frequent first, each with a node."""
    first: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for name in able:
        found = refused.get(name)
        why = _NOT_THERE if found is None else f"the {found.kind} devices cannot be had: {found.detail}"
        counted[why] += 1
        first.setdefault(why, name)
    return [NodesAlike(count=count, why=why, example=first[why]) for why, count in counted.most_common()]


def _device_reasons(claims: Sequence[Claim], able: Sequence[str], allocator: Allocator) -> list[NodesAlike]:
    """Return the reasons of the nodes that could run the pod, the most frequent first."""
    examples: dict[tuple[object, ...], tuple[str, str]] = {}
    counted: Counter[tuple[object, ...]] = Counter()
    for name in able[:_EXPLAINED]:
        node = allocator.seen.devices.views.node(name)
        answer = allocator.engine.allocate(claims, node)
        match answer:
            case Unallocatable(reasons=reasons):
                key: tuple[object, ...] = (reasons[0].claim, reasons[0].request, reasons[0].cause)
                text = decisive_text(answer)
            case Undecided():
                key, text = ("undecided",), "no answer was found within the bound of steps"
            case _:
                key, text = ("fits",), "the devices are free now, and the pod is tried again"
        counted[key] += 1
        examples.setdefault(key, (text, name))
    found = [
        NodesAlike(count=count, why=examples[key][0], example=examples[key][1])
        for key, count in counted.most_common()
    ]
    if len(able) > _EXPLAINED:
        found.append(NodesAlike(count=len(able) - _EXPLAINED, why="did not have the devices either"))
    return found


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
