"""Selectors: CEL expressions that choose devices. Only this module uses the CEL engine.

Takes a text and a device; returns a bool, the same as from Kubernetes' API server and scheduler. Compiled
selectors are cached by their text. A device is prepared for evaluation once, as a ``DeviceView``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.cel.driver import DriverRead, driver_reads, with_driver
from scheduler_core.cel.errors import CompileError, EvaluationError, WorkExceeded
from scheduler_core.cel.evaluate.compiler import compile_tree
from scheduler_core.cel.evaluate.steps import COST_LIMIT, Slots
from scheduler_core.cel.parse.frontend import check
from scheduler_core.cel.parse.reads import Read, compared, demanded, reads_of
from scheduler_core.cel.tree import BOOL, DYN, FREE, INT, STRING, Call, CelType, Literal, Node, children
from scheduler_core.cel.values import Domains, Option, type_name
from scheduler_core.cel.view import DeviceView
from scheduler_core.cel.work import Work
from scheduler_core.model.device import AttributeValue, Device, DeviceName, QualifiedName
from scheduler_core.model.names import domain_and_identifier

__all__ = [
    "DeviceView",
    "Expression",
    "Selector",
    "compile_derived",
    "compile_selector",
    "part_view",
    "view",
    "written_for",
]


def view(driver: str, device: Device, pool: str = "") -> DeviceView:
    """Return the view of a device that expressions are evaluated on. ``pool`` is for messages only."""
    return DeviceView(
        driver,
        _by_domain(device.attributes),
        _by_domain(device.capacity),
        device.is_shareable,
        device.name,
        pool,
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


class Expression:
    """A compiled expression of any type. Any number of threads may evaluate it.

    It may be one that the API server refuses for its estimated cost (``compile_selector`` refuses it
    too). Every evaluation ends: it takes a bounded amount of work, whatever the estimate says.

    Shape: ``text`` as given; ``reads`` what the answer depends on, as ("attributes" or "capacity", domain,
           identifier), other fields as ("driver", "", ""), None where the expression computes what it reads.
    """

    __slots__ = ("_code", "_has_slots", "_max_cost", "_tree", "_variables", "_work", "reads", "text")

    def __init__(self, text: str) -> None:
        """Compile ``text``.

        Raises: SelectorError if it does not compile, or has a type that this kind of expression may not have.
        """
        self.text = text
        try:
            tree = check(text)
            self._check_type(tree.type)
            program = compile_tree(tree)
        except CompileError as error:
            raise SelectorError(text, str(error)) from None
        self._max_cost = program.max_cost
        self._tree = tree
        self.reads = reads_of(tree)
        self._code, self._work = program.code, program.work
        self._variables = (None,) * program.variables
        self._has_slots = self._work is not None or program.variables > 0

    def _check_type(self, type_: CelType) -> None:
        """Raise a CompileError for a type that this kind of expression may not have: here any may be."""

    @property
    def max_cost(self) -> int:
        """Return the most that the expression can cost on any device, as the API server estimates it.

        Units: CEL cost units.
        """
        if self._max_cost is None:  # of a plain expression, it is computed only if it is printed
            from scheduler_core.cel.cost.estimate import estimate

            self._max_cost = estimate(self._tree).high
        return self._max_cost

    @property
    def is_admitted(self) -> bool:
        """Whether the API server admits the expression: its estimated cost is within the limit."""
        return self._max_cost is None or self._max_cost <= COST_LIMIT

    def value(self, view: DeviceView) -> Any:
        """Return the value of the expression for a device, as ``cel.values`` represents it.

        Raises: SelectorError where the expression fails on it, or takes more work than one evaluation may.
        """
        try:
            return self._code(view, self._slots())
        except (EvaluationError, WorkExceeded) as error:
            raise SelectorError(self.text, str(error), view.name, pool=view.pool) from None

    def _slots(self) -> Slots:
        """Return the slots of a new evaluation: the work that is left, if any counts, and the variables."""
        if self._work is not None:
            return [Work(self._work), *self._variables]
        return [None, *self._variables] if self._variables else _NO_SLOTS

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.text!r})"


class Selector(Expression):
    """An expression that chooses devices: it gives a bool, or a value of a type known at run time only."""

    __slots__ = ()

    def _check_type(self, type_: CelType) -> None:
        if type_ not in (BOOL, DYN, FREE):
            raise CompileError(f"must evaluate to bool or the unknown type, not {type_}")

    def demanded(self, domain: str, identifier: str) -> frozenset[str] | None:
        """Return texts of which the attribute must be one on every selected device, None where it is open."""
        return demanded(self._tree, ("attributes", domain, identifier))

    def compared(self, read: Read) -> tuple[str | int, ...]:
        """Return the texts and numbers that the expression asks a value to equal; empty where none."""
        return compared(self._tree, read)

    def reads_of(self, driver: str) -> frozenset[DriverRead] | None:
        """Return which attributes and capacities of a driver are read; None where they are computed."""
        if self.reads is None:
            return driver_reads(self._tree, driver)
        return frozenset((kind, name) for kind, domain, name in self.reads if domain == driver)

    def failing_calls(self) -> Iterator[str]:
        """Yield why calls with literals alone fail on every device, such as ``quantity("40 Gi")``."""
        for node in _below(self._tree):
            if (
                isinstance(node, Call)
                and node.arguments
                and all(isinstance(one, Literal) for one in node.arguments)
            ):
                program = compile_tree(node)
                try:
                    program.code(_NO_DEVICE, [Work(program.work or 0), *(None,) * program.variables])
                except (EvaluationError, WorkExceeded) as error:
                    yield str(error)

    def matches(self, view: DeviceView) -> bool:
        """Whether the expression selects the device.

        Raises: SelectorError where the expression fails on it, or takes more work than one evaluation may.
        """
        try:  # not by way of value(): a call more is a tenth of the time of most selectors
            answer = self._code(view, self._slots() if self._has_slots else _NO_SLOTS)
        except (EvaluationError, WorkExceeded) as error:
            raise SelectorError(self.text, str(error), view.name, pool=view.pool) from None
        if isinstance(answer, Option):
            answer = answer.value
        if answer is True or answer is False:
            return answer
        reason = f"result of type {type_name(answer)} could not be converted to bool"
        raise SelectorError(self.text, reason, view.name, pool=view.pool)


class DerivedAttribute(Expression):
    """An expression whose value stands for an attribute of a device (KEP-6080)."""

    __slots__ = ()

    def _check_type(self, type_: CelType) -> None:
        scalar = type_.parameters[0] if type_.name == "list" and type_.parameters else type_
        if scalar not in _OF_ATTRIBUTES:
            kinds = "string, integer, boolean, semver"
            raise CompileError(f"must evaluate to a scalar ({kinds}) or a list of scalars, not {type_}")

    def of(self, view: DeviceView) -> AttributeValue | None:
        """Return the attribute of a device; None for an empty list, which does not count as a value.

        Raises: SelectorError if the expression fails on it, or if no attribute can have its value.
        """
        value = self.value(view)
        values = value if isinstance(value, list) else [value]
        kinds = {type(one) for one in values}
        if len(kinds) > 1 or not kinds <= _KINDS:
            found = " and ".join(sorted(map(type_name, values)))
            reason = f"must evaluate to a scalar or a list of scalars of one type, not {found}"
            raise SelectorError(self.text, reason, view.name, pool=view.pool)
        return (tuple(values) or None) if isinstance(value, list) else value


_KINDS: Final = {bool, int, str, Version}
_OF_ATTRIBUTES: Final = (BOOL, INT, STRING, CelType("kubernetes.Semver"), DYN, FREE)
_NO_SLOTS: Final[Slots] = []
_NO_DEVICE: Final = DeviceView("", Domains(), Domains(), False, DeviceName(""))


def _below(node: Node) -> Iterator[Node]:
    yield node
    for child in children(node):
        yield from _below(child)


@lru_cache(maxsize=1024)
def compile_derived(text: str) -> DerivedAttribute:
    """Compile an expression for an attribute, or return it as compiled before. Raises: as for a selector."""
    derived = DerivedAttribute(text)
    _admit(derived)
    return derived


@lru_cache(maxsize=1024)
def compile_selector(text: str) -> Selector:
    """Compile an expression that an API server admits, or return it as compiled before.

    Raises: SelectorError saying what is wrong and where, or that the estimated cost is over the API's limit.
    """
    selector = Selector(text)
    _admit(selector)
    return selector


def _admit(expression: Expression) -> None:
    if not expression.is_admitted:
        reason = f"its estimated cost of {expression.max_cost} exceeds the limit of {COST_LIMIT}"
        raise SelectorError(expression.text, reason)


def written_for(text: str, old: str, new: str) -> str | None:
    """Return a selector that says of driver ``new`` what ``text`` says of ``old``, None if uncertain.

    Raises: SelectorError where the text is no selector.
    """
    try:
        return with_driver(text, old, new)
    except CompileError as error:
        raise SelectorError(text, str(error)) from None
