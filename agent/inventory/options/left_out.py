"""PURE: why a device is not among those of a node that has its GPU: the GPU's modes leave it out."""

from __future__ import annotations

from collections.abc import Mapping

from agent.inventory.modes import ModesOfGpu
from agent.inventory.names import gpu_name, mps_name, shared_name
from agent.inventory.options.mode_option import OPTION
from scheduler_core.frontends.partitions.gpu_numbers import numbers_in
from scheduler_core.model.device import DeviceName


def why_not_in_modes(name: DeviceName, modes: Mapping[int, ModesOfGpu]) -> str:
    """Return why a device is left out; empty where its GPUs are offered so, or there is no such GPU.

    Shape: ``modes`` by the numbers of the GPUs that the node has.
    """
    for number in numbers_in(name):
        found = modes.get(number)
        if found is not None and not _is_offered(name, number, found):
            if found.is_none:
                return f"{gpu_name(number)} is excluded by the policy of the node"
            said = f"{OPTION} has {found.words} for it, or the policy of the node"
            return f"{gpu_name(number)} is offered in other modes: {said}"
        if found is not None and _is_cut_otherwise(name, number, found):
            return f"the policy of the node offers other MIG partitions of {gpu_name(number)}"
    return ""


def _is_offered(name: DeviceName, number: int, modes: ModesOfGpu) -> bool:
    if name == shared_name(number):
        return modes.shared is not None
    if name == mps_name(number):
        return modes.mps is not None
    return modes.mig if name.startswith(f"{gpu_name(number)}-") else modes.whole


def _is_cut_otherwise(name: DeviceName, number: int, modes: ModesOfGpu) -> bool:
    """Whether a device that a GPU has not is cut from it by MIG, and a policy says what may be cut."""
    is_cut = name.startswith(f"{gpu_name(number)}-mig-")
    return is_cut and (modes.profiles is not None or modes.layout is not None)
