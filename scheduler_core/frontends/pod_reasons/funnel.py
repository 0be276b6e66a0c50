"""How many GPUs and cards of a node are left for a pod after each thing that it asks, as values.

``pod_reasons.stages`` computes them. Nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.funnel import ValuesPresent


class PodStageKind(StrEnum):
    """What is asked at a stage, in order."""

    KNOWN = "known"
    SELECTOR = "selector"
    HEALTH = "health"
    AMOUNT = "amount"
    FREE = "free"
    TOGETHER = "together"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodStage:
    """One thing that a pod asks of the devices of a type, and how many are left after it.

    Shape: ``asked`` is the selector, the amounts of each device, or why no choice of the free devices will
           do; else empty. ``lost`` are the numbers of the devices that the stage leaves out, by reason;
           ``values`` are what the devices before it have, only where too few devices are left.
    """

    kind: PodStageKind
    asked: str = ""
    left: int
    lost: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: tuple[ValuesPresent, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFunnel:
    """The stages of one type of device on one node, from all devices to the free ones.

    Shape: ``type`` is gpu, rdma or fpga; ``needed`` is None where the pod wants all that match; ``stages``
           begin with ``known``; those that ask nothing are left out.
    """

    type: str
    node: str
    needed: int | None
    stages: tuple[PodStage, ...]

    @property
    def decisive(self) -> int | None:
        """Return the index of the first stage that leaves too few devices, None where enough are left."""
        least = self.needed or 1
        return next((place for place, one in enumerate(self.stages) if one.left < least), None)
