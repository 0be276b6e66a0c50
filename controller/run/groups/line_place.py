"""The place of a group in the line, and which groups fit or do not fit together. Values in, values out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

from controller.decide.question import Question
from controller.gangs.values import GroupKey
from controller.queue.waiting_line import Entry, Order

Against = Mapping[str, str]
_NOTHING: Against = {}


def id_of(key: GroupKey) -> str:
    """Return what stands for a group in the line, where pods have their UIDs."""
    return f"group {key} ({key.source})"


def entry_of(
    key: GroupKey, questions: Sequence[Question], minimum: int, against: Mapping[str, Against]
) -> Entry:
    """Return the entry of a group: at the place of its first member that waits."""
    first = min(Order.of(one.pod.priority, one.pod.created, one.pod.uid) for one in questions)
    shape = (minimum, _shape(key, questions, against))
    return Entry(Order(first.behind, first.created, id_of(key)), shape)


def _shape(key: GroupKey, questions: Sequence[Question], against: Mapping[str, Against]) -> Hashable:
    """Return a key that is equal for groups that fit or do not fit together."""
    uses = Counter(one.asked.ref for question in questions for one in question.wanted)
    if any(count > 1 for count in uses.values()):
        return id_of(key)  # which members use a claim together is not compared
    members = Counter(
        (one.shape, tuple(sorted(against.get(one.pod.uid, _NOTHING).items()))) for one in questions
    )
    return frozenset(members.items())
