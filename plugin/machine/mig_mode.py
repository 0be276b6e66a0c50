"""The MIG mode of a GPU: on for MIG partitions, off for whole GPUs and for GPUs without any instance.

A change that cannot happen now is taken back: a refused call must leave no change pending that the next
reset of the GPU, made for another reason, would carry out. The caller holds the GPU's lock.
"""

from __future__ import annotations

import logging

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Gpus
from agent.hardware.types import ModeChange
from agent.inventory.foreign.texts import NO_CLAIM, instances_text
from agent.inventory.numbers.numbering import NumberedGpu
from plugin.base.errors import GpuBusy, ModeBlocked, PlacementTaken
from plugin.machine.texts import gpu_text

_log = logging.getLogger(__name__)


def turn_on(gpus: Gpus, gpu: NumberedGpu) -> None:
    """Turn the mode on, so that instances can be created.

    Raises: ModeBlocked, GpuBusy; NotSupported on a model without MIG.
    """
    _set(gpus, gpu, enabled=True)


def turn_off_together(gpus: Gpus, *together: NumberedGpu) -> None:
    """Turn the mode of several GPUs off, so that they can be used whole. All are checked before any changes.

    Raises: PlacementTaken naming the instances that are left; ModeBlocked, GpuBusy; HardwareError.
    """
    for gpu in together:
        instances = gpus.gpu_instances(gpu.uuid)
        if instances:
            reason = f"it is cut into {instances_text(instances)}, {NO_CLAIM}"
            raise PlacementTaken("use", f"{gpu_text(gpu)} whole", reason)
    for gpu in together:
        if gpu.mig is not None:
            _set(gpus, gpu, enabled=False)


def turn_off_if_unused(gpus: Gpus, gpu: NumberedGpu) -> None:
    """Turn the mode off where the GPU has no instance. A refusal is logged only: nothing depends on it.

    The mode stays on where only an operator could turn it on again.
    """
    if gpu.mig is None or gpu.mode_needs_operator:
        return
    try:
        if not gpus.gpu_instances(gpu.uuid):
            _set(gpus, gpu, enabled=False)
    except (HardwareError, ModeBlocked, GpuBusy) as error:
        _log.warning("%s stays in MIG mode: %s", gpu_text(gpu), error)


def _set(gpus: Gpus, gpu: NumberedGpu, *, enabled: bool) -> None:
    mode = gpus.mig_mode(gpu.uuid)
    if mode is not None and mode.current == enabled and (mode.is_settled or gpu.mode_needs_operator):
        return
    wish = "on" if enabled else "off"
    attempted, subject = f"turn MIG mode {wish} for", gpu_text(gpu)
    if mode is not None and gpu.mode_needs_operator:
        raise ModeBlocked(attempted, subject, "a virtual machine cannot reset this GPU")
    change = gpus.set_mig_mode(gpu.uuid, enabled)
    if change is ModeChange.ACTIVE:
        _log.info("%s: MIG mode is %s", subject, wish)
        return
    _take_back(gpus, gpu, enabled=not enabled)
    refusal = ModeBlocked if change is ModeChange.PENDING_RESET else GpuBusy
    raise refusal(attempted, subject, change.value)


def _take_back(gpus: Gpus, gpu: NumberedGpu, *, enabled: bool) -> None:
    try:
        gpus.set_mig_mode(gpu.uuid, enabled)
    except HardwareError as error:
        _log.warning("%s: a change of the MIG mode stays pending: %s", gpu_text(gpu), error)
