"""Finds changes with which annotated claims would fit, if only their annotations are in the way.

Takes claims, their annotations and the nodes' tables of partitions. Returns remedies, each of which was
tried. The state is changed for single questions and is as before afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.advice.remedies import DropAnnotation, EndClaims
from scheduler_core.base.errors import CoreError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.annotations.reading import SCHEDULING
from scheduler_core.frontends.claims.annotated_claims import allocate_marked
from scheduler_core.frontends.claims.claim_demands import Marks
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import SPEC
from scheduler_core.frontends.pods.hints import JOINT
from scheduler_core.model.claim import Claim, ClaimRef
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation
from scheduler_core.planning.ending import Ending, EndingSearch, Questions, Wish, wish_for
from scheduler_core.planning.freeing import holders_that_may_end

_NODES: Final = 16
_QUESTIONS: Final = 400
_ANNOTATIONS: Final = (("joint", SCHEDULING + JOINT), ("spec", SCHEDULING + SPEC))
"""The fields of ``Marks``, and the annotations that they come from."""


@dataclass(frozen=True, slots=True)
class MarkedQuestion:
    """Annotated claims, and where they may go. Shape: ``marks`` by claim, ``tables`` by node."""

    claims: Sequence[Claim]
    marks: Mapping[ClaimRef, Marks]
    nodes: Sequence[Node]
    tables: Mapping[str, NodeTable]

    def fits(self, engine: Engine, node: Node) -> bool:
        """Whether the claims fit on a node in the state as it is. What cannot be asked counts as no."""
        try:
            found = allocate_marked(self.claims, self.marks, engine, node, self.tables.get(node.name))
        except CoreError:
            return False
        return isinstance(found, Allocation)


def advise_marked(question: MarkedQuestion, engine: Engine) -> tuple[EndClaims | DropAnnotation, ...]:
    """Return what would help: the fewest claims to end, and annotations to leave out, each by itself.

    Shape: the claims fit on none of the nodes.
    """
    ending = _ended(question, engine)
    return (*(() if ending is None else (ending,)), *_dropped(question, engine))


def _ended(question: MarkedQuestion, engine: Engine) -> EndClaims | None:
    questions, best, is_complete = Questions(_QUESTIONS), None, len(question.nodes) <= _NODES
    for node in question.nodes[:_NODES]:
        holders = holders_that_may_end(engine.state.concerning(node), ())
        limit = len(holders) if best is None else len(best.ended) - 1
        search = EndingSearch(engine.state, _wish(question, engine, node), node, holders, questions, limit)
        found: Ending | None = None if questions.are_used_up else search.run()
        is_complete = is_complete and search.is_complete
        best = found if found is not None and found.ended else best
    if best is None:
        return None
    return EndClaims(node=best.node, held=best.ended, is_fewest=best.is_fewest and is_complete)


def _wish(question: MarkedQuestion, engine: Engine, node: Node) -> Wish:
    usual = wish_for(engine, question.claims, node, len(engine.state.concerning(node)))
    return replace(usual, fits=lambda: question.fits(engine, node))


def _dropped(question: MarkedQuestion, engine: Engine) -> Iterator[DropAnnotation]:
    for ref, marks in question.marks.items():
        for name, annotation in _ANNOTATIONS:
            if getattr(marks, name) is None:
                continue
            left = {**question.marks, ref: replace(marks, **{name: None})}
            changed = replace(question, marks=left)
            node = next((one for one in question.nodes[:_NODES] if changed.fits(engine, one)), None)
            if node is not None:
                yield DropAnnotation(node=node.name, claim=ref, annotation=annotation)
