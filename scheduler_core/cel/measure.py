"""What one evaluation costs, in upstream's units: for explanations and tests, not for allocation."""

from __future__ import annotations

from scheduler_core.cel.compiler import planned
from scheduler_core.cel.errors import CostExceeded, EvaluationError
from scheduler_core.cel.frontend import check
from scheduler_core.cel.steps import COST_LIMIT, Plan
from scheduler_core.cel.view import DeviceView


def measured_cost(text: str, view: DeviceView) -> int:
    """Return the cost of evaluating an expression on a device.

    Units:  CEL cost units; one more than the limit where the evaluation passes it.
    Raises: CompileError where it is no selector.
    """
    program = planned(check(text), Plan(is_metered=True, has_surcharges=False), max_cost=0)
    slots = program.new_slots()
    slots[0] = COST_LIMIT
    try:
        program.code(view, slots)
    except EvaluationError:
        pass
    except CostExceeded:
        return COST_LIMIT + 1
    return COST_LIMIT - int(slots[0])
