"""Code that evaluates the arguments of a call and calls its function, for one, two or more arguments."""

from __future__ import annotations

from scheduler_core.cel.evaluate.steps import Code, Step
from scheduler_core.cel.overloads import Run
from scheduler_core.cel.work import BOUNDED


def quiet(run: Run, arguments: list[Step]) -> Code:
    """Return code that calls a function which counts nothing."""
    match [argument.run for argument in arguments]:
        case [first]:
            return lambda view, slots: run(first(view, slots))
        case [first, second] if arguments[1].is_constant:
            known = arguments[1].constant
            return lambda view, slots: run(first(view, slots), known)
        case [first, second]:
            return lambda view, slots: run(first(view, slots), second(view, slots))
        case reads:
            return lambda view, slots: run(*[read(view, slots) for read in reads])


def bounded(run: Run, arguments: list[Step]) -> Code:
    """Return code that calls a function whose work a literal bounds: it need not count."""
    match [argument.run for argument in arguments]:
        case [first]:
            return lambda view, slots: run(BOUNDED, first(view, slots))
        case [first, second] if arguments[1].is_constant:
            known = arguments[1].constant
            return lambda view, slots: run(BOUNDED, first(view, slots), known)
        case [first, second]:
            return lambda view, slots: run(BOUNDED, first(view, slots), second(view, slots))
        case _:
            raise AssertionError("no function of more than two arguments is bounded by a literal")


def counting(run: Run, arguments: list[Step]) -> Code:
    """Return code that calls a function which counts its work."""
    match [argument.run for argument in arguments]:
        case [first]:
            return lambda view, slots: run(slots[0], first(view, slots))
        case [first, second] if arguments[1].is_constant:
            known = arguments[1].constant
            return lambda view, slots: run(slots[0], first(view, slots), known)
        case [first, second]:
            return lambda view, slots: run(slots[0], first(view, slots), second(view, slots))
        case reads:
            return lambda view, slots: run(slots[0], *[read(view, slots) for read in reads])
