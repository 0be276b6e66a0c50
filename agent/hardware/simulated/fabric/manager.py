"""The simulated fabric manager: the ``FabricManager`` port over a machine's state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from agent.hardware.errors import FabricUnavailable, NotSupported
from agent.hardware.fabric.types import FabricGpu, FabricMode, FabricPartition
from agent.hardware.simulated.calls import Calls
from agent.hardware.simulated.fabric import rules
from agent.hardware.simulated.faults import Call
from agent.hardware.simulated.state import FabricState, State
from agent.hardware.simulated.strikes import has_no_fabric_manager


@dataclass(frozen=True, slots=True)
class SimulatedFabric:
    """The fabric manager of a simulated machine; implements ``FabricManager``."""

    calls: Calls

    def mode(self) -> FabricMode:
        """Return how the fabric manager is configured to run."""
        fabric = self.calls.store.node.document.fabric
        return FabricMode.NONE if fabric is None else FabricMode(fabric.mode)

    def partitions(self) -> tuple[FabricPartition, ...]:
        """Return the supported partitions by id, with each GPU's module alone, as on HGX H100."""
        attempted, node = "list the fabric partitions", self.calls.store.node
        with self.calls.of_machine(Call.FABRIC_PARTITIONS, attempted):
            state = self.calls.store.read()
            self._need_answer(attempted, state)
            return tuple(
                FabricPartition(
                    id=one.id,
                    gpus=tuple(map(FabricGpu, one.modules)),
                    is_active=one.id in state.fabric.active,
                    bandwidth=one.links_mb_s * 10**6 or None,
                )
                for one in rules.supported(node, state.fabric)
            )

    def activate(self, partition: int) -> None:
        """Join the GPUs of a partition. Raises: NotFound, InUse, NotSupported, FabricUnavailable."""
        node = self.calls.store.node
        attempted = f"activate fabric partition {partition}"
        self._change(Call.ACTIVATE, attempted, lambda state: rules.activated(node, state, partition))

    def deactivate(self, partition: int) -> None:
        """Deactivate a partition. Raises: NotFound, NotSupported, FabricUnavailable."""
        node = self.calls.store.node
        attempted = f"deactivate fabric partition {partition}"
        self._change(Call.DEACTIVATE, attempted, lambda state: rules.deactivated(node, state, partition))

    def _change(self, call: Call, attempted: str, decide: Callable[[State], FabricState]) -> None:
        def decided(state: State) -> tuple[State, None]:
            self._need_answer(attempted, state)
            return replace(state, fabric=decide(state)), None

        with self.calls.of_machine(call, attempted):
            self.calls.store.change(decided)

    def _need_answer(self, attempted: str, state: State) -> None:
        if has_no_fabric_manager(state):
            raise FabricUnavailable(attempted, rules.SUBJECT, "it does not run")
        if self.mode() is not FabricMode.SHARED:
            reason = f"it runs in mode {self.mode()}"
            remedy = "the operator runs the fabric manager with FABRIC_MODE=1"
            raise NotSupported(attempted, rules.SUBJECT, reason, remedy)
