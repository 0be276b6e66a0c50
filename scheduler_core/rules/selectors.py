"""Selectors: CEL expressions that choose devices. Only this module uses the CEL engine.

A text and a device enter, a bool leaves, the same as from Kubernetes' API server and scheduler. Compiled
selectors are cached by their text. A device is prepared for evaluation once, as a ``DeviceView``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quantity import Quantity
from scheduler_core.cel.compiler import compile_tree
from scheduler_core.cel.cost.estimate import estimate
from scheduler_core.cel.errors import CompileError, CostExceeded, EvaluationError
from scheduler_core.cel.frontend import check
from scheduler_core.cel.reads import reads_of
from scheduler_core.cel.steps import BUDGET, Slots
from scheduler_core.cel.values import Domains, Option, type_name
from scheduler_core.cel.view import DeviceView
from scheduler_core.model.device import AttributeValue, Device, DeviceName, QualifiedName
from scheduler_core.model.names import domain_and_identifier

__all__ = ["DeviceView", "Selector", "compile_selector", "part_view", "view"]


def view(driver: str, device: Device) -> DeviceView:
    """Return the view of a device that expressions are evaluated on."""
    return part_view(
        driver, device.name, device.attributes, device.capacity, is_shareable=device.is_shareable
    )


def part_view(
    driver: str,
    name: DeviceName,
    attributes: Mapping[QualifiedName, AttributeValue],
    capacity: Mapping[QualifiedName, Quantity],
    *,
    is_shareable: bool,
) -> DeviceView:
    """Return the view of a device that has only these attributes and capacities."""
    return DeviceView(driver, _by_domain(attributes), _by_domain(capacity), is_shareable, name)


def _by_domain(values: Mapping[QualifiedName, Any]) -> Domains:
    domains = Domains()
    for name, value in values.items():
        domain, identifier = domain_and_identifier(name)
        domains.setdefault(domain, {})[identifier] = list(value) if isinstance(value, tuple) else value
    return domains


_NO_SLOTS: Final[Slots] = []


class Selector:
    """A compiled expression. Any number of threads may evaluate it.

    Shape: ``text`` as given; ``max_cost`` the most that it can cost on any device, in CEL cost units: the
           API server takes expressions up to 1,000,000; ``reads`` what the answer depends on, as
           ("attributes" or "capacity", domain, identifier), other fields as ("driver", "", ""), None where
           the expression computes what it reads.
    """

    __slots__ = ("_code", "_max_cost", "_slots", "_tree", "reads", "text")

    def __init__(self, text: str) -> None:
        """Compile ``text``.

        Raises: SelectorError where it is no selector.
        """
        self.text = text
        try:
            tree = check(text)
            program = compile_tree(tree)
        except CompileError as error:
            raise SelectorError(text, str(error)) from None
        self._max_cost = program.max_cost
        self._tree = tree
        self.reads = reads_of(tree)
        self._code, self._slots = program.code, program.slots

    @property
    def max_cost(self) -> int:
        """Return the most that the expression can cost, counted when first asked for where it is plain."""
        if self._max_cost is None:
            self._max_cost = estimate(self._tree).high
        return self._max_cost

    def matches(self, view: DeviceView) -> bool:
        """Whether the expression selects the device.

        Raises: SelectorError where the expression fails on it, or becomes too expensive.
        """
        slots: Slots = [BUDGET, *[None] * (self._slots - 1)] if self._slots else _NO_SLOTS
        try:
            answer = self._code(view, slots)
        except (EvaluationError, CostExceeded) as error:
            raise SelectorError(self.text, str(error), view.name) from None
        if isinstance(answer, Option):
            answer = answer.value
        if answer is True or answer is False:
            return answer
        reason = f"result of type {type_name(answer)} could not be converted to bool"
        raise SelectorError(self.text, reason, view.name)

    def __repr__(self) -> str:
        return f"Selector({self.text!r})"


@lru_cache(maxsize=1024)
def compile_selector(text: str) -> Selector:
    """Compile an expression, or return it as compiled before.

    Raises: SelectorError saying what is wrong and where.
    """
    return Selector(text)
