"""What the threads of the controller tell its loop. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.plan.log_fields import of_plan
from controller.plan.plans import Plan
from controller.run.writer import Outcome


@dataclass(frozen=True, slots=True)
class Changed:
    """An object has changed. Shape: ``old`` None for a new one, ``new`` None for one that is gone."""

    kind: str
    namespace: str
    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Written:
    """The writes of a plan ended. Units: ``took_s`` seconds."""

    plan: Plan
    outcome: Outcome
    took_s: float


@dataclass(frozen=True, slots=True)
class Refresh:
    """All claims are to be read: this replica has just begun to lead."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """All claims were read."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The loop shall end."""


Message = Changed | Written | Refreshed | Stop | None


def named(message: Message) -> str:
    """Return what a message is about, for the log."""
    match message:
        case Changed(kind=kind, namespace=namespace, name=name):
            return f"a change of {kind} {namespace}/{name}" if namespace else f"a change of {kind} {name}"
        case Written(plan=plan):
            return f"the end of a {type(plan).__name__}"
        case _:
            return "a message"


def fields_of(message: Message) -> dict[str, str]:
    """Return the fields of log lines about a message."""
    match message:
        case Changed(kind="Pod", namespace=namespace, name=name):
            return {"namespace": namespace, "pod": name}
        case Changed(kind="ResourceClaim", namespace=namespace, name=name):
            return {"namespace": namespace, "claim": name}
        case Changed(kind="Node", name=name):
            return {"node": name}
        case Written(plan=plan):
            return of_plan(plan)
        case _:
            return {}
