"""Loops as upstream runs them: each round evaluates the condition and the step that the macro expands to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.evaluate.loops import elements, pairs
from scheduler_core.cel.measured.tally import Names, Tally, Variable, known
from scheduler_core.cel.tree import Fold, Node, is_bind

Evaluate = Callable[[Node, Names], Any]


def fold(node: Fold, names: Names, evaluate: Evaluate, tally: Tally) -> Any:
    """Return the result of a loop, or of ``cel.bind``, a loop without rounds."""
    values = evaluate(node.range, names)
    if isinstance(values, EvaluationError):
        return values
    try:
        rounds = _rounds(node, values)
    except EvaluationError as error:
        return error
    collected = Variable(lambda: evaluate(node.initial, names), grows=not is_bind(node))
    inside = {**names, node.accumulator: collected}
    for variables in rounds:
        tally.work.spend(1)
        scope = {**inside, **variables}
        if evaluate(node.condition, scope) is False:
            break
        collected.value = evaluate(node.step, scope)
    return evaluate(node.result, inside)


def _rounds(node: Fold, values: Any) -> Iterator[dict[str, Variable]]:
    if not node.second:
        return ({node.first: known(value)} for value in elements(values))
    return ({node.first: known(key), node.second: known(value)} for key, value in pairs(values))
