"""The simulated driver: the ``Gpus`` port over a machine's state.

Every call reads the state again, so that several processes see the same hardware. It fails as hardware does
(``rules.py``) and as injected faults say (``faults.py``).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from agent.hardware.errors import HardwareError
from agent.hardware.health.types import GpuVitals
from agent.hardware.simulated import rules
from agent.hardware.simulated.calls import Calls
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.faults import Call
from agent.hardware.simulated.health.vitals import vitals_of
from agent.hardware.simulated.state import GpuState, InstanceState, State
from agent.hardware.simulated.store import minted, with_gpu
from agent.hardware.simulated.strikes import faults_of, is_held
from agent.hardware.types import (
    ComputeInstance,
    ComputeMode,
    DriverVersions,
    Gpu,
    GpuInstance,
    GpuUuid,
    MigMode,
    MigProfile,
    MigSpec,
    MigUuid,
    ModeChange,
    Placement,
    TimeSlice,
    Unreadable,
)


@dataclass(frozen=True, slots=True)
class SimulatedGpus:
    """The GPUs of a simulated machine; implements ``Gpus``."""

    calls: Calls

    def versions(self) -> DriverVersions:
        """Return the driver's versions. Raises: DriverMissing."""
        with self.calls.of_machine(Call.VERSIONS, "read the driver's versions") as driver:
            return DriverVersions(driver.version, driver.cuda)

    def gpus(self) -> tuple[Gpu | Unreadable, ...]:
        """Return every GPU by index; one that cannot be read is an ``Unreadable``."""
        with self.calls.of_machine(Call.GPUS, "list the GPUs"):
            return tuple(self._gpu(card) for card in self.calls.store.node.cards)

    def in_one_look(self) -> SimulatedGpus:
        """Return these GPUs: none of them hangs."""
        return self

    def minor(self, gpu: GpuUuid) -> int:
        """Return the number of a GPU's device node."""
        with self.calls.of_gpu(Call.GPUS, gpu, "read the minor number") as (card, _):
            return card.minor

    def mig_mode(self, gpu: GpuUuid) -> MigMode | None:
        """Return the MIG mode, None on a model without MIG."""
        with self.calls.of_gpu(Call.MIG_MODE, gpu, "read the MIG mode") as (card, state):
            return _mode(card, state.gpus[gpu])

    def compute_mode(self, gpu: GpuUuid) -> ComputeMode:
        """Return which programs may compute on a GPU."""
        with self.calls.of_gpu(Call.COMPUTE_MODE, gpu, "read the compute mode") as (_, state):
            return state.gpus[gpu].compute_mode

    def set_compute_mode(self, gpu: GpuUuid, mode: ComputeMode) -> None:
        """Set which programs may compute on a GPU. Raises: NotSupported in MIG mode."""

        def decide(card: Card, state: State) -> tuple[State, None]:
            return with_gpu(state, gpu, rules.set_compute_mode(card, state.gpus[gpu], mode)), None

        self.calls.change(Call.SET_COMPUTE_MODE, gpu, "set the compute mode", decide)

    def set_time_slice(self, gpu: GpuUuid, interval: TimeSlice) -> None:
        """Set how long programs take turns on a GPU. Raises: NotSupported in MIG mode."""

        def decide(card: Card, state: State) -> tuple[State, None]:
            return with_gpu(state, gpu, rules.set_time_slice(card, state.gpus[gpu], interval)), None

        self.calls.change(Call.SET_TIME_SLICE, gpu, "set the interval of time slicing", decide)

    def profiles(self, gpu: GpuUuid) -> tuple[MigProfile, ...]:
        """Return the profiles whose figures are known, by name."""
        with self.calls.of_gpu(Call.PROFILES, gpu, "read the MIG profiles") as (card, _):
            return card.model.profiles

    def gpu_instances(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        """Return the existing GIs by id."""
        with self.calls.of_gpu(Call.GPU_INSTANCES, gpu, "list the GPU instances") as (_, state):
            return tuple(_instance(gpu, instance) for instance in state.gpus[gpu].instances)

    def processes(self, gpu: GpuUuid) -> tuple[int, ...]:
        """Return the processes that are clients of a GPU."""
        with self.calls.of_gpu(Call.PROCESSES, gpu, "list the processes") as (card, state):
            return self.calls.store.clients.of(state.boots, card.minor)

    def vitals(self, gpu: GpuUuid) -> GpuVitals:
        """Return how a GPU is now."""
        with self.calls.of_gpu(Call.VITALS, gpu, "read the vitals") as (card, state):
            return vitals_of(card, faults_of(state))

    def set_mig_mode(self, gpu: GpuUuid, enabled: bool) -> ModeChange:
        """Request the mode and return whether it took effect or is pending. Raises: NotSupported, InUse.

        Clients keep it from taking effect, but for this process: a client may change the mode itself.
        """

        def decide(card: Card, state: State) -> tuple[State, ModeChange]:
            after, change = rules.set_mode(
                card,
                state.gpus[gpu],
                enabled,
                is_held=is_held(state, card.minor) or self._has_other_clients(card, state),
                is_passthrough=self.calls.store.node.document.passthrough,
            )
            return with_gpu(state, gpu, after), change

        return self.calls.change(Call.SET_MIG_MODE, gpu, "set the MIG mode", decide)

    def create_gpu_instance(self, spec: MigSpec) -> int:
        """Create a GI and return its id. Raises: NotSupported, InvalidArgument, InsufficientResources."""

        def decide(card: Card, state: State) -> tuple[State, int]:
            before = state.gpus[spec.parent]
            after, gi_id = rules.create_gpu_instance(card, before, spec.profile_id, spec.placement)
            return with_gpu(state, spec.parent, after), gi_id

        return self.calls.change(Call.CREATE_GPU_INSTANCE, spec.parent, "create GPU instance", decide)

    def create_compute_instance(
        self, gpu: GpuUuid, gi_id: int, place: Placement | None = None
    ) -> ComputeInstance:
        """Create a compute instance. Without ``place`` it fills the GPU instance. Units: compute slices.

        Raises: NotSupported, NotFound, InvalidArgument, InsufficientResources.
        """

        def decide(card: Card, state: State) -> tuple[State, ComputeInstance]:
            counted, uuid = minted(self.calls.store.node.name, state)
            if place is None:
                after = rules.create_compute_instance(card, state.gpus[gpu], gi_id, uuid)
                return with_gpu(counted, gpu, after), _filling(uuid)
            after, ci_id = rules.create_narrow_instance(card, state.gpus[gpu], gi_id, place, uuid)
            return with_gpu(counted, gpu, after), ComputeInstance(ci_id, MigUuid(uuid), place)

        return self.calls.change(Call.CREATE_COMPUTE_INSTANCE, gpu, "create compute instance", decide)

    def destroy_compute_instance(self, gpu: GpuUuid, gi_id: int, ci_id: int) -> None:
        """Destroy a CI. Raises: NotSupported, NotFound."""

        def decide(card: Card, state: State) -> tuple[State, None]:
            after = rules.destroy_compute_instance(card, state.gpus[gpu], gi_id, ci_id)
            return with_gpu(state, gpu, after), None

        self.calls.change(Call.DESTROY_COMPUTE_INSTANCE, gpu, "destroy compute instance", decide)

    def destroy_gpu_instance(self, gpu: GpuUuid, gi_id: int) -> None:
        """Destroy a GI. Raises: NotSupported, NotFound, InUse while it has a CI."""

        def decide(card: Card, state: State) -> tuple[State, None]:
            after = rules.destroy_gpu_instance(card, state.gpus[gpu], gi_id)
            return with_gpu(state, gpu, after), None

        self.calls.change(Call.DESTROY_GPU_INSTANCE, gpu, "destroy GPU instance", decide)

    def _has_other_clients(self, card: Card, state: State) -> bool:
        return bool(set(self.calls.store.clients.of(state.boots, card.minor)) - {os.getpid()})

    def _gpu(self, card: Card) -> Gpu | Unreadable:
        try:
            with self.calls.of_gpu(Call.GPUS, card.uuid, "read") as (_, state):
                is_passthrough = self.calls.store.node.document.passthrough
                return _described(card, state.gpus[card.uuid], is_passthrough)
        except HardwareError as error:
            return Unreadable(f"GPU {card.minor}", str(error), (card.uuid, card.site.bdf))


def _described(card: Card, state: GpuState, is_passthrough: bool) -> Gpu:
    memory_bytes = card.model.memory_bytes
    assert memory_bytes is not None, "node files without it are refused"
    return Gpu(
        uuid=card.uuid,
        index=card.index,
        minor=card.minor,
        bdf=card.site.bdf,
        product_name=card.model.product_name,
        architecture=card.model.architecture,
        brand=card.model.brand,
        cuda_compute_capability=card.model.cuda_compute_capability,
        memory_bytes=memory_bytes,
        mig=_mode(card, state),
        is_passthrough=is_passthrough,
        module_id=card.form.module,
    )


def _mode(card: Card, state: GpuState) -> MigMode | None:
    return MigMode(state.mig_current, state.mig_pending) if card.model.is_mig_capable else None


def _instance(parent: GpuUuid, state: InstanceState) -> GpuInstance:
    filling = (_filling(state.ci_uuid),) if state.ci_uuid is not None else ()
    narrow = (
        ComputeInstance(one.ci_id, MigUuid(one.uuid), Placement(one.start, one.size)) for one in state.narrow
    )
    placement = Placement(state.start, state.size)
    return GpuInstance(parent, state.gi_id, state.profile_id, placement, (*filling, *narrow))


def _filling(uuid: str) -> ComputeInstance:
    return ComputeInstance(rules.COMPUTE_INSTANCE_ID, MigUuid(uuid))
