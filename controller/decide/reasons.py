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
from scheduler_core.model.claim import Claim
from scheduler_core.model.result import Reason, Unallocatable, Undecided

_EXPLAINED: Final = 16
_SHOWN: Final = 6
_LONGEST: Final = 1024
_NO_NODES: Final[Mapping[str, str]] = {}
_HELD_BACK: Final = "are held back for pods that wait longer"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodesAlike:
    """Nodes that will not do for the same reason.

    Shape: ``why`` goes on after the count, "2 nodes ...", where the pod may not run there now; where it may,
           ``example`` names one of the nodes, and ``why`` says what its devices lack.
    """

    count: int
    why: str
    example: str = ""

    def __str__(self) -> str:
        if self.example:
            return f"{_nodes(self.count)}: {self.why} ({self.example})"
        return f"{_nodes(self.count)} {self.why}"


def reason_of(
    question: Question,
    allocator: Allocator,
    against: Mapping[str, str],
    reserved: Set[str] = frozenset(),
    refused: Mapping[str, str] = _NO_NODES,
) -> str:
    """Return why the claims fit on no node, in at most 1024 characters.

    Shape: as ``groups_of``.

    Raises: CoreError for claims that are wrong.
    """
    parts = list(map(str, groups_of(question, allocator, against, reserved, refused)))
    text = f"none of {_nodes(len(allocator.seen.devices.views.names))} with devices: "
    text += "; ".join(parts[:_SHOWN])
    if len(parts) > _SHOWN:
        text += f"; {len(parts) - _SHOWN} more reasons"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def groups_of(
    question: Question,
    allocator: Allocator,
    against: Mapping[str, str],
    reserved: Set[str] = frozenset(),
    refused: Mapping[str, str] = _NO_NODES,
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
            why = _HELD_BACK
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


def _counted(refused: Mapping[str, str], able: Sequence[str]) -> list[NodesAlike]:
    """Return the reasons of the nodes that could run the pod, the most frequent first, each with a node."""
    first: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for name in able:
        why = refused.get(name, "do not have the devices")
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
                text = _short(reasons[0])
            case Undecided():
                key, text = ("undecided",), "no answer within the bound of steps"
            case _:
                key, text = ("fits",), "has them now: the pod is tried again"
        counted[key] += 1
        examples.setdefault(key, (text, name))
    found = [
        NodesAlike(count=count, why=examples[key][0], example=examples[key][1])
        for key, count in counted.most_common()
    ]
    if len(able) > _EXPLAINED:
        found.append(NodesAlike(count=len(able) - _EXPLAINED, why="do not have them either"))
    return found


def _short(reason: Reason) -> str:
    """Return the first part of a reason. The rest lists devices and would change with every claim."""
    of_claim = "" if reason.claim == CLASSES else f"claim {reason.claim} "
    return f"{of_claim}request {reason.request}: {reason.detail.partition(';')[0]}"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
