"""The parts of a compiled expression.

A *step* is a closure with what is known about it. A closure takes the device and the slots of this
evaluation: slot 0 holds the work that is left, or None where nothing counts; the others hold the variables.
``weight`` is the work of one run of a step. The weights of all steps are counted before the expression runs,
those inside a loop at each round; only functions whose work depends on their values count while they run. So
an expression without loops and without such functions counts nothing while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.tree import Node
from scheduler_core.cel.view import DeviceView
from scheduler_core.cel.work import Work

Slots = list[Any]
Code = Callable[[DeviceView, Slots], Any]


class _Unknown:
    """The type of ``UNKNOWN``."""


UNKNOWN: Final = _Unknown()
COST_LIMIT: Final = 1_000_000
"""The highest estimated cost that the API server admits. Units: CEL cost units.

Source: resource.k8s.io/v1, CELSelectorExpressionMaxCost.
"""
_FOLDING: Final = 50_000
"""The most work for calls of constants when an expression is compiled; the others run on each device."""


@dataclass(frozen=True, slots=True)
class Step:
    """A compiled node.

    Shape: ``constant`` is UNKNOWN but for values known at compile time; ``is_literal`` says that such a
           value is written in the text; ``path`` is (field, domain) or (field, domain, identifier) where
           the step reads just that of the device, else empty; ``is_short`` says that a text is one of the
           device, at most as long as the API allows.
    Units: ``weight`` in units of work.
    """

    run: Code
    weight: int = 1
    constant: Any = UNKNOWN
    is_literal: bool = False
    path: tuple[str, ...] = ()
    is_short: bool = False

    @property
    def is_constant(self) -> bool:
        """Whether the value is known at compile time."""
        return self.constant is not UNKNOWN


@dataclass(slots=True)
class Plan:
    """What belongs to one compilation.

    Shape: ``slots`` is the number of slots so far; ``counts`` is True where a step counts while it runs;
           ``compiling`` is the work of literal patterns, ``folding`` of calls of constants.
    """

    slots: int = 1
    counts: bool = False
    compiling: Work = field(default_factory=Work)
    folding: Work = field(default_factory=lambda: Work(_FOLDING))


@dataclass(frozen=True, slots=True)
class Scope:
    """The variables that a node can see.

    Shape: ``names`` gives each its slot; ``lazy`` the code that reads a slot filled at its first use.
    """

    plan: Plan
    names: Mapping[str, int] = field(default_factory=dict)
    lazy: Mapping[int, Code] = field(default_factory=dict)

    def bind(self, name: str) -> tuple[Scope, int]:
        """Return a scope in which ``name`` has a new slot, and the slot."""
        slot = self.plan.slots
        self.plan.slots += 1
        return replace(self, names={**self.names, name: slot}), slot

    def bind_lazily(self, name: str, initial: Code) -> tuple[Scope, int]:
        """Return a scope in which ``name`` is computed by ``initial`` at its first use, and its slot."""
        scope, slot = self.bind(name)
        return replace(scope, lazy={**self.lazy, slot: _lazy(slot, initial)}), slot


@dataclass(frozen=True, slots=True)
class _Failed:
    """The error of a variable, kept for each use."""

    problem: str


def _lazy(slot: int, initial: Code) -> Code:
    def run(view: DeviceView, slots: Slots) -> Any:
        value = slots[slot]
        if value is UNKNOWN:
            try:
                value = slots[slot] = initial(view, slots)
            except EvaluationError as error:
                slots[slot] = _Failed(str(error))
                raise
        if type(value) is _Failed:
            raise EvaluationError(value.problem)
        return value

    return run


Build = Callable[[Node, Scope], Step]


def constant(value: Any, *, weight: int = 1, is_literal: bool = False) -> Step:
    """Return a step that is a value."""
    return Step(lambda _view, _slots: value, weight, value, is_literal)


def work_of(slots: Slots) -> Work:
    """Return the work that is left of this evaluation."""
    left: Work = slots[0]
    return left
