"""The settings of a benchmark run: one value, made from the command line."""

from __future__ import annotations

from collections.abc import Callable

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.engine.policy.policies import Policy
from tangram.bench.machine import Dgx


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Sizes and surroundings of a run.

    Shape: ``nodes`` and ``count`` None for the size that the benchmark is meant for; ``say`` is called
           with what is being measured.
    """

    dgx: Dgx
    policy: Policy
    nodes: int | None
    count: int | None
    say: Callable[[str], None]
