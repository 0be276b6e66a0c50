"""Places copies of a workload one after another, as the cluster would under a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.planning.room import copies
from scheduler_core.planning.trial_changes import TrialChanges


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What became of the copies of a workload.

    Shape: ``placed`` copies came before the first one that did not fit; ``nodes`` has how many each node got;
           ``undecided`` is the answer of the search that gave up, None where all copies were decided.
    """

    asked: int
    placed: int
    nodes: Mapping[str, int]
    undecided: Undecided | None = None


def place(
    engine: Engine,
    trial: TrialChanges,
    claims: Sequence[Claim],
    count: int,
    nodes: Sequence[Node],
    *,
    before: int = 0,
) -> Placement:
    """Let copies of some claims hold devices until ``count`` do or one does not fit.

    Shape: the claims of one copy are on one node; ``before`` copies hold devices on trial already.
    Raises: as ``Engine.allocate``.
    """
    used: Counter[str] = Counter()
    for number in range(count):
        copy = copies(claims, before + number + 1)
        answer = engine.decide_somewhere(copy, nodes)
        if not isinstance(answer, Allocation):
            undecided = answer if isinstance(answer, Undecided) else None
            return Placement(asked=count, placed=number, nodes=dict(used), undecided=undecided)
        used[answer.node] += 1
        for claim in copy:
            trial.hold(claim, answer)
    return Placement(asked=count, placed=count, nodes=dict(used))
