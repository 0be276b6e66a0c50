"""Loops as upstream runs them: each round evaluates the condition and the step that the macro expands to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.measured.tally import Names, Tally, Variable, known
from scheduler_core.cel.tree import Fold, Node, is_bind
from scheduler_core.cel.values import Domains, type_name

Evaluate = Callable[[Node, Names], Any]


def fold(node: Fold, names: Names, evaluate: Evaluate, tally: Tally) -> Any:
    """Return the result of a loop, or of ``cel.bind``, a loop without rounds."""
    values = evaluate(node.range, names)
    if isinstance(values, EvaluationError):
        return values
    if type(values) not in (list, dict, Domains):
        return EvaluationError(f"got '{type_name(values)}', expected iterable type")
    collected = Variable(lambda: evaluate(node.initial, names), grows=not is_bind(node))
    inside = {**names, node.accumulator: collected}
    for variables in _rounds(node, values):
        tally.work.spend(1)
        scope = {**inside, **variables}
        if evaluate(node.condition, scope) is False:
            break
        collected.value = evaluate(node.step, scope)
    return evaluate(node.result, inside)


def _rounds(node: Fold, values: Any) -> Iterator[dict[str, Variable]]:
    if not node.second:
        yield from ({node.first: known(value)} for value in values)
    else:
        pairs = enumerate(values) if isinstance(values, list) else values.items()
        yield from ({node.first: known(key), node.second: known(value)} for key, value in pairs)
