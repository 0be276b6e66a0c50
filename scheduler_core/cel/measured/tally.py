"""What an evaluation has cost so far, and its variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.errors import EvaluationError, no_such_overload
from scheduler_core.cel.evaluate.steps import COST_LIMIT, UNKNOWN
from scheduler_core.cel.work import Work


class CostExceeded(Exception):
    """The evaluation costs more than the API's limit: upstream stops it."""


@dataclass(slots=True)
class Tally:
    """The cost so far, in CEL cost units, and the work that is left."""

    cost: int = 0
    work: Work = field(default_factory=Work)

    def charge(self, cost: int) -> None:
        """Count some cost.

        Raises: CostExceeded above the limit.
        """
        self.cost += cost
        if self.cost > COST_LIMIT:
            raise CostExceeded(f"actual cost limit exceeded: it costs more than {COST_LIMIT} units")


@dataclass(slots=True)
class Variable:
    """A variable of a loop or of ``cel.bind``; its first value is computed when it is first read.

    Shape: ``grows`` says that a loop collects a list or a map in it, which nothing else can see.
    """

    start: Callable[[], Any]
    value: Any = UNKNOWN
    grows: bool = False

    def read(self) -> Any:
        """Return the value, or the error, of the variable."""
        if self.value is UNKNOWN:
            self.value = self.start()
        return self.value


Names = Mapping[str, Variable]


def known(value: Any) -> Variable:
    """Return a variable that has a value."""
    return Variable(lambda: value, value)


def problem(function: str, value: Any) -> EvaluationError:
    """Return the error that a value is, or the error for a value of the wrong type."""
    return value if isinstance(value, EvaluationError) else no_such_overload(function, value)
