"""What cannot be wrong with the GPUs of a machine, since their model has no such part. Pure."""

from __future__ import annotations

from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.gpu_troubles.faults import GpuTrouble, GpuTroubleKind, Raised

_JOINS_FABRICS = ("Hopper", "Blackwell")
_RETIRES_PAGES = ("Turing",)
"""Models that replace no rows of their memory. Source: NVIDIA GPU Memory Error Management."""


def joins_fabric(card: Card) -> bool:
    """Whether a GPU reports the state of its fabric. Source: nvml.h, nvmlDeviceGetGpuFabricInfoV."""
    return card.model.nvlinks > 0 and card.model.architecture in _JOINS_FABRICS


def remaps_rows(card: Card) -> bool:
    """Whether a GPU replaces bad rows of its memory."""
    return card.model.architecture not in _RETIRES_PAGES


def why_impossible(fault: GpuTrouble | Raised, card: Card) -> str:
    """Return why a GPU cannot have a trouble or raise an event, empty if it can."""
    name = f"the {card.model.product_name}"
    if isinstance(fault, Raised):
        names_instance = fault.gi_id is not None
        return f"{name} has no MIG" if names_instance and not card.model.is_mig_capable else ""
    match fault.kind:
        case GpuTroubleKind.NVLINK_DOWN if not card.model.nvlinks:
            return f"{name} has no NVLink"
        case GpuTroubleKind.NVLINK_DOWN if int(fault.value or 0) >= card.model.nvlinks:
            return f"{name} has NVLinks 0 to {card.model.nvlinks - 1}"
        case GpuTroubleKind.FABRIC if not joins_fabric(card):
            return f"{name} joins no fabric"
        case GpuTroubleKind.REMAP_PENDING | GpuTroubleKind.REMAP_FAILED if not remaps_rows(card):
            return f"{name} remaps no rows"
    return ""
