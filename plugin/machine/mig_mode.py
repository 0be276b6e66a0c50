"""The MIG mode of a GPU: on for partitions, off for whole GPUs and for GPUs that nothing is cut from.

A change that cannot happen now is taken back, so that a refused call leaves no change waiting for a
reset that somebody makes for other reasons. The caller holds the GPU's lock.
"""

from __future__ import annotations

import logging

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Gpus
from agent.hardware.types import Gpu, ModeChange
from plugin.base.errors import GpuBusy, ModeBlocked, PlacementTaken
from plugin.machine.mig import gpu_text, named

_log = logging.getLogger(__name__)


def turn_on(gpus: Gpus, gpu: Gpu) -> None:
    """Make sure that partitions can be cut.

    Raises: ModeBlocked, GpuBusy; NotSupported on a model without MIG.
    """
    _set(gpus, gpu, enabled=True)


def make_whole(gpus: Gpus, *together: Gpu) -> None:
    """Make sure that GPUs can be used whole; no mode is touched before all of them were looked at.

    Raises: PlacementTaken naming the instances that are left; ModeBlocked, GpuBusy; HardwareError.
    """
    for gpu in together:
        instances = gpus.gpu_instances(gpu.uuid)
        if instances:
            raise PlacementTaken("use", f"{gpu_text(gpu)} whole", f"it is cut into {named(instances)}")
    for gpu in together:
        if gpu.mig is not None:
            _set(gpus, gpu, enabled=False)


def rest(gpus: Gpus, gpu: Gpu) -> None:
    """Turn the mode off where nothing is cut from the GPU; a refusal is logged and hurts nobody.

    Never where only an operator could turn it on again.
    """
    if gpu.mig is None or gpu.mode_needs_operator:
        return
    try:
        if not gpus.gpu_instances(gpu.uuid):
            _set(gpus, gpu, enabled=False)
    except (HardwareError, ModeBlocked, GpuBusy) as error:
        _log.warning("%s stays in MIG mode: %s", gpu_text(gpu), error)


def _set(gpus: Gpus, gpu: Gpu, *, enabled: bool) -> None:
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


def _take_back(gpus: Gpus, gpu: Gpu, *, enabled: bool) -> None:
    try:
        gpus.set_mig_mode(gpu.uuid, enabled)
    except HardwareError as error:
        _log.warning("%s: a change of the MIG mode stays pending: %s", gpu_text(gpu), error)
