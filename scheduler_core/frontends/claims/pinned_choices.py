"""Asks the engine for each choice of devices, within one bound on the steps of all choices together."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.base.effort import DECISION, Effort, EffortExceeded
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.request_devices import RequestDevices
from scheduler_core.frontends.joint.node_device import NodeDevice
from scheduler_core.model.claim import Claim
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Undecided
from scheduler_core.search.pinned import Pins


class PinnedChoices:
    """The choices of one question. Shape: ``effort`` counts the steps of the choices and of the engine."""

    def __init__(self, engine: Engine, node: Node, requests: Sequence[RequestDevices]) -> None:
        self.effort = Effort(most=DECISION)
        self.requests = requests
        self._engine = engine
        self._node = node

    def devices(self, request: int, chosen: Sequence[NodeDevice]) -> tuple[DeviceId, ...]:
        """Return the devices of a request that were chosen."""
        return tuple(self.requests[request].devices[one.index].id for one in chosen)

    def decide(self, claims: Sequence[Claim], pins: Pins) -> Allocation | None:
        """Return the allocation that gives some requests chosen devices, None where there is none.

        Raises: EffortExceeded where all choices so far took more steps than one question may take, or where
                the engine cannot decide this one.
        """
        before = self._engine.effort.steps
        found = self._engine.decide_pinned(claims, self._node, pins)
        self.effort.step(1 + self._engine.effort.steps - before)
        if isinstance(found, Undecided):
            raise EffortExceeded(self.effort.most)
        return found
