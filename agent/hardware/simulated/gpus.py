"""The simulated driver: the ``Gpus`` port over a machine's state.

Every call reads the state again, so that several processes see the same hardware. It fails as hardware does
(``rules.py``) and as injected faults say (``faults.py``). Functions of NVML that can fail are asked in the
order and the forms of the real adapter.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from agent.hardware.asked import unreadable
from agent.hardware.driver.nvml_rules import has_longer_process_records, newest_form
from agent.hardware.errors import HardwareError, InvalidArgument, NotSupported
from agent.hardware.health.types import FABRIC_CONDITIONS, FabricState, GpuVitals
from agent.hardware.simulated import rules
from agent.hardware.simulated.calls import Calls
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.faults import Answered, Call, NvmlFunction
from agent.hardware.simulated.health.vitals import vitals_of
from agent.hardware.simulated.state import InstanceState, State
from agent.hardware.simulated.store import minted, with_gpu
from agent.hardware.simulated.strikes import faults_of, is_held, needs_mig_for_profiles, wrong_answer
from agent.hardware.types import (
    MIB,
    Bdf,
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

_Value = TypeVar("_Value")

_NEEDED: Final = {
    NvmlFunction.UUID: "read UUID",
    NvmlFunction.COMPUTE_CAPABILITY: "read compute capability",
    NvmlFunction.MINOR: "read minor number",
    NvmlFunction.PCI_INFO: "read PCI address",
    NvmlFunction.NAME: "read name",
    NvmlFunction.ARCHITECTURE: "read architecture",
}
"""What a GPU cannot be used without, in the order in which it is asked for."""


@dataclass(frozen=True, slots=True)
class SimulatedGpus:
    """The GPUs of a simulated machine; implements ``Gpus``.

    Shape: ``has_library`` is False below a library of its own: then no fault of a function of NVML counts.
    """

    calls: Calls
    has_library: bool = True

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
        with self.calls.of_gpu(Call.GPUS, gpu, "read the minor number") as (card, state):
            self._ask(state, card, NvmlFunction.MINOR, "read minor number")
            minor = self._answer(state, card, Answered.MINOR)
            return card.minor if minor is None else int(minor)

    def mig_mode(self, gpu: GpuUuid) -> MigMode | None:
        """Return the MIG mode, None on a model without MIG."""
        with self.calls.of_gpu(Call.MIG_MODE, gpu, "read the MIG mode") as (card, state):
            return self._mode(card, state)

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
        attempted = "read the MIG profiles"
        with self.calls.of_gpu(Call.PROFILES, gpu, attempted) as (card, state):
            is_silent = needs_mig_for_profiles(state) and not state.gpus[card.uuid].mig_current
            if is_silent or self._mode(card, state) is None:
                return ()
            try:
                newest_form(
                    lambda: self._ask(state, card, NvmlFunction.PROFILE_V, attempted),
                    lambda: self._ask(state, card, NvmlFunction.PROFILE, attempted),
                )
                self._ask(state, card, NvmlFunction.PLACEMENTS, attempted)
            except (NotSupported, InvalidArgument):  # the driver has none of the constants
                return ()
            return card.model.profiles

    def gpu_instances(self, gpu: GpuUuid) -> tuple[GpuInstance, ...]:
        """Return the existing GIs by id."""
        with self.calls.of_gpu(Call.GPU_INSTANCES, gpu, "list the GPU instances") as (_, state):
            return tuple(_instance(gpu, instance) for instance in state.gpus[gpu].instances)

    def processes(self, gpu: GpuUuid) -> tuple[int, ...]:
        """Return the processes that are clients of a GPU. Raises: NotSupported if the driver has no list."""
        attempted = "list processes that compute"
        with self.calls.of_gpu(Call.PROCESSES, gpu, "list the processes") as (card, state):
            forms = [NvmlFunction.COMPUTE_PROCESSES_V3, NvmlFunction.COMPUTE_PROCESSES_V2]
            driver = self.calls.store.node.document.driver
            if driver is not None and has_longer_process_records(driver.version):
                del forms[0]
            newest_form(*(self._asking(state, card, function, attempted) for function in forms))
            return self.calls.store.clients.of(state.boots, card.minor)

    def vitals(self, gpu: GpuUuid) -> GpuVitals:
        """Return how a GPU is now."""
        with self.calls.of_gpu(Call.VITALS, gpu, "read the vitals") as (card, state):
            vitals = vitals_of(card, faults_of(state))

            def in_newest_form() -> GpuVitals:
                self._ask(state, card, NvmlFunction.FABRIC_V, "read fabric")
                return vitals

            def in_first_form() -> GpuVitals:
                self._ask(state, card, NvmlFunction.FABRIC, "read fabric")
                has_health = vitals.fabric in FABRIC_CONDITIONS  # the first form has no health mask
                return replace(vitals, fabric=FabricState.COMPLETED) if has_health else vitals

            try:
                return newest_form(in_newest_form, in_first_form)
            except HardwareError:
                return replace(vitals, fabric=None)

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
                return self._described(card, state)
        except HardwareError as error:
            return unreadable(card.index, error, lambda: self._address(card))

    def _described(self, card: Card, state: State) -> Gpu:
        for function, attempted in _NEEDED.items():
            self._ask(state, card, function, attempted)
        memory_mib, minor = (
            self._answer(state, card, Answered.MEMORY_MIB),
            self._answer(state, card, Answered.MINOR),
        )
        return Gpu(
            uuid=GpuUuid(self._answer(state, card, Answered.UUID) or card.uuid),
            index=card.index,
            minor=card.minor if minor is None else int(minor),
            bdf=card.site.bdf,
            product_name=card.model.product_name,
            architecture=card.model.architecture,
            brand=self._if_supported(state, card, NvmlFunction.BRAND, card.model.brand),
            cuda_compute_capability=card.model.cuda_compute_capability,
            memory_bytes=self._if_supported(
                state,
                card,
                NvmlFunction.MEMORY,
                card.model.memory_bytes if memory_mib is None else int(memory_mib) * MIB,
            ),
            mig=self._mode(card, state),
            is_passthrough=bool(
                self._if_supported(
                    state, card, NvmlFunction.VIRTUALIZATION, self.calls.store.node.document.passthrough
                )
            ),
            module_id=self._if_supported(state, card, NvmlFunction.MODULE_ID, card.form.module),
            multiprocessors=self._if_supported(
                state, card, NvmlFunction.CORES, card.model.multiprocessors, HardwareError
            ),
        )

    def _mode(self, card: Card, state: State) -> MigMode | None:
        gpu = state.gpus[card.uuid]
        known = MigMode(gpu.mig_current, gpu.mig_pending) if card.model.is_mig_capable else None
        return self._if_supported(state, card, NvmlFunction.MIG_MODE, known)

    def _address(self, card: Card) -> Bdf:
        with self.calls.as_it_is() as state:
            self._ask(state, card, NvmlFunction.PCI_INFO, "read PCI address")
        return card.site.bdf

    def _ask(self, state: State, card: Card, function: NvmlFunction, attempted: str) -> None:
        """Ask a function of NVML, which answers or refuses. Raises: HardwareError."""
        if state.faults and self.has_library:
            self.calls.ask(function, card, attempted)

    def _asking(self, state: State, card: Card, function: NvmlFunction, attempted: str) -> Callable[[], None]:
        return lambda: self._ask(state, card, function, attempted)

    def _if_supported(
        self,
        state: State,
        card: Card,
        function: NvmlFunction,
        value: _Value | None,
        passed_over: type[HardwareError] = NotSupported,
    ) -> _Value | None:
        """Return a value that a GPU may lack, None if its function answers so."""
        try:
            self._ask(state, card, function, f"read by {function}")
        except passed_over:
            return None
        return value

    def _answer(self, state: State, card: Card, what: Answered) -> str | None:
        return wrong_answer(state, card.minor, what) if state.faults and self.has_library else None


def _instance(parent: GpuUuid, state: InstanceState) -> GpuInstance:
    filling = (_filling(state.ci_uuid),) if state.ci_uuid is not None else ()
    narrow = (
        ComputeInstance(one.ci_id, MigUuid(one.uuid), Placement(one.start, one.size)) for one in state.narrow
    )
    placement = Placement(state.start, state.size)
    return GpuInstance(parent, state.gi_id, state.profile_id, placement, (*filling, *narrow))


def _filling(uuid: str) -> ComputeInstance:
    return ComputeInstance(rules.COMPUTE_INSTANCE_ID, MigUuid(uuid))
