"""What one evaluation costs, in upstream's units: for explanations and tests, not for allocation.

Upstream counts each step that it takes, also on the way to an error that ``||``, ``&&`` or a loop absorbs. So
this is an evaluator of its own: it takes the steps of cel-go one by one, with errors as values. It shares
the functions with the compiled expressions, and none of their control flow.
Source: cel-go ``interpreter/interpretable``, ``interpreter/attributes`` and ``interpreter/runtimecost``.
"""

from __future__ import annotations

from scheduler_core.cel.errors import EvaluationError, WorkExceeded
from scheduler_core.cel.evaluate.steps import COST_LIMIT
from scheduler_core.cel.measured.evaluator import Evaluator
from scheduler_core.cel.measured.tally import CostExceeded, Tally
from scheduler_core.cel.parse.frontend import check
from scheduler_core.cel.view import DeviceView


def measured_cost(text: str, view: DeviceView) -> int:
    """Return the cost of evaluating an expression on a device.

    Units:  CEL cost units; one more than the API's limit where the evaluation was stopped: because it costs
            more than that, or because it takes more work than one evaluation may.
    Raises: CompileError where it is no selector.
    """
    return evaluated(text, view)[1]


def evaluated(text: str, view: DeviceView) -> tuple[object, int]:
    """Return the value of an expression, or its error as a value, and the cost.

    Raises: CompileError where it is no selector.
    """
    tree, tally = check(text), Tally()
    try:
        value = Evaluator(view, tally).value(tree, {})
    except (CostExceeded, WorkExceeded) as error:
        return EvaluationError(str(error)), COST_LIMIT + 1
    return value, tally.cost
