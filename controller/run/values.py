"""The values of the coordinator: how long things wait, what was decided, what happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.decide.decisions import Decision
from controller.plan.plans import GroupPlacement, Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long things wait.

    Shape: ``let_go_s`` None to keep the gate for ever.
    Units: seconds; ``tell_s`` until a pod is told why it waits; ``settle_s`` until devices of a node are
           allocated that kube-scheduler had before; ``reserve_s`` until a node is held back for a pod;
           ``bind_s`` until devices of a pod without a node are taken back; ``distrust_s`` until a node
           that did not do is tried again; ``let_go_s`` until the gate of a pod without devices is removed.
    """

    tell_s: float = 2.0
    settle_s: float = 3.0
    reserve_s: float = 300.0
    bind_s: float = 300.0
    distrust_s: float = 300.0
    let_go_s: float | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """Decisions about a pod, or about the members of a group, and the writes that follow from them."""

    decisions: tuple[Decision, ...]
    plan: Placement | GroupPlacement | None


@dataclass(slots=True)
class Counts:
    """What happened since the start. Shape: ``failed`` by why."""

    placed: int = 0
    refused: int = 0
    taken_back: int = 0
    failed: dict[str, int] = field(default_factory=dict)
