"""``orValue`` and ``or``: the alternative is evaluated only where the optional is empty."""

from __future__ import annotations

from typing import Any

from scheduler_core.cel.errors import no_such_overload
from scheduler_core.cel.evaluate.steps import Build, Scope, Slots, Step
from scheduler_core.cel.tree import Call
from scheduler_core.cel.values import Option
from scheduler_core.cel.view import DeviceView


def alternative(node: Call, scope: Scope, build: Build) -> Step:
    """Compile ``option.orValue(other)``, whose result is a value, or ``option.or(other)``, an optional."""
    option, other = (build(argument, scope) for argument in node.arguments)
    read, read_other = option.run, other.run
    unwraps, name = node.function == "orValue", node.function

    def run(view: DeviceView, slots: Slots) -> Any:
        found = read(view, slots)
        if not isinstance(found, Option):
            raise no_such_overload(name, found)
        if not found.is_present:
            return read_other(view, slots)
        return found.value if unwraps else found

    return Step(run, option.weight + other.weight + 1)
