"""The MIG mode of GPUs: on for MIG partitions, off for whole GPUs; of GPUs without any instance as found.

A change that cannot happen now is taken back: a refused call must leave no change pending that the next
reset of the GPU, made for another reason, would carry out. A GPU that only NVML processes of this driver hold
is freed by asking them to step aside. The caller holds the GPU's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent.hardware.clients.ports import Client, GpuClients, SeenClients
from agent.hardware.errors import HardwareError
from agent.hardware.ports import Gpus
from agent.hardware.types import GpuInstance, MigMode, ModeChange
from agent.inventory.foreign.texts import NO_CLAIM, instances_text
from agent.inventory.modes import GpuModes
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import GpuBusy, ModeBlocked, PlacementTaken, StorageFailed
from plugin.machine.mig.made import MadeModes
from plugin.machine.texts import MOST_NAMED, clients_text, gpu_text
from plugin.machine.waiting import Waiting

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigModes:
    """Changes MIG modes, for one call.

    Shape: ``waiting`` for processes of this driver that are asked to let go of a GPU; ``made`` the modes that
           this driver turned on; ``policy`` whose mode is kept on; ``heard`` is called with the wish, ``on``
           or ``off``, and what came of it.
    """

    gpus: Gpus
    clients: GpuClients
    waiting: Waiting
    made: MadeModes
    policy: GpuModes = field(default_factory=GpuModes)
    heard: Callable[[str, ModeChange], object] = lambda _, __: None

    def turn_on(self, gpu: NumberedGpu) -> None:
        """Turn the mode on, so that instances can be created.

        Raises: ModeBlocked, GpuBusy, StorageFailed; NotSupported on a model without MIG.
        """
        self._set(gpu, self.gpus.mig_mode(gpu.uuid), enabled=True)

    def turn_off_together(self, *together: NumberedGpu) -> None:
        """Turn the mode of several GPUs off, so that they can be used whole. First all are checked.

        Raises: PlacementTaken naming the instances that are left; ModeBlocked, GpuBusy, StorageFailed;
                HardwareError.
        """
        for gpu in together:
            instances = self.gpus.gpu_instances(gpu.uuid)
            if instances:
                reason = f"it is cut into {instances_text(instances)}, {NO_CLAIM}"
                raise PlacementTaken("use", f"{gpu_text(gpu)} whole", reason)
        for gpu in together:
            if gpu.mig is not None:
                self._set(gpu, self.gpus.mig_mode(gpu.uuid), enabled=False)

    def turn_off_if_unused(
        self, gpu: NumberedGpu, present: Sequence[GpuInstance] | None = None, *, was_off: bool = False
    ) -> None:
        """Turn the mode off where the GPU has no instance. A refusal is logged only: nothing depends on it.

        The mode stays on where only an operator could turn it on again, where it is to be kept, and on a GPU
        that resets for a change, unless this driver turned it on.
        Shape: ``present`` its instances, None where they were not listed just now; ``was_off`` whether it
               was off while a claim had the GPU, so that nobody had it on before.
        """
        if gpu.mig is None or gpu.mode_needs_operator:
            return
        try:
            if not (self.gpus.gpu_instances(gpu.uuid) if present is None else present):
                mode = self.gpus.mig_mode(gpu.uuid)
                is_kept = mode is not None and mode.current and self._is_kept(gpu, was_off=was_off)
                self._set(gpu, mode, enabled=is_kept)
        except (HardwareError, ModeBlocked, GpuBusy, StorageFailed) as error:
            _log.warning("%s stays in MIG mode: %s", gpu_text(gpu), error)

    def _is_kept(self, gpu: NumberedGpu, *, was_off: bool) -> bool:
        if self.policy.of(gpu.number).keeps_mig:
            return True
        return gpu.resets_for_mode and not was_off and not self.made.has(gpu)

    def _set(self, gpu: NumberedGpu, mode: MigMode | None, *, enabled: bool) -> None:
        if mode is None or mode.current != enabled or not (mode.is_settled or gpu.mode_needs_operator):
            self._change(gpu, mode, enabled=enabled)
        if not enabled:
            self.made.remove(gpu)

    def _change(self, gpu: NumberedGpu, mode: MigMode | None, *, enabled: bool) -> None:
        wish = "on" if enabled else "off"
        attempted, subject = f"turn MIG mode {wish} for", gpu_text(gpu)
        if mode is not None and gpu.mode_needs_operator:
            raise ModeBlocked(attempted, subject, "a virtual machine cannot reset this GPU")
        if enabled and mode is not None and not mode.current:
            self.made.add(gpu)
        change = self.gpus.set_mig_mode(gpu.uuid, enabled)
        if change is ModeChange.PENDING_IN_USE and self._is_freed(gpu):
            change = self.gpus.set_mig_mode(gpu.uuid, enabled)
        self.heard(wish, change)
        if change is ModeChange.ACTIVE:
            _log.info("%s: MIG mode is %s", subject, wish)
            return
        self._take_back(gpu, enabled=not enabled)
        if change is ModeChange.PENDING_RESET:
            raise ModeBlocked(attempted, subject, change.value)
        raise GpuBusy(attempted, subject, f"{change.value} {_by(self.clients.of(gpu.uuid))}")

    def _is_freed(self, gpu: NumberedGpu) -> bool:
        """Have a GPU freed that NVML processes of this driver alone hold; return whether they let go.

        Where others hold it, too, as far as that can be seen, ours may stay.
        """
        found = self.clients.of(gpu.uuid).found
        if not found or not all(one.steps_aside for one in found):
            return False
        for one in found:
            _log.info("%s: %s is asked to let go of it for a moment", gpu_text(gpu), one)
            self.clients.ask_to_step_aside(one)
        return self.waiting.until(lambda: self._are_gone(found) or None) is True

    def _are_gone(self, asked: Sequence[Client]) -> bool:
        return not any(self.clients.is_there(one) for one in asked)

    def _take_back(self, gpu: NumberedGpu, *, enabled: bool) -> None:
        try:
            self.gpus.set_mig_mode(gpu.uuid, enabled)
        except HardwareError as error:
            _log.warning("%s: a change of the MIG mode stays pending: %s", gpu_text(gpu), error)


def _by(held: SeenClients) -> str:
    """Return who holds a GPU, as the end of a sentence."""
    if not held.found:
        return "by no process that can be seen"
    is_all = held.is_complete or len(held.found) > MOST_NAMED
    return f"by {clients_text(held.found)}{'' if is_all else ', and perhaps by others that cannot be seen'}"
