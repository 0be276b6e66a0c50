"""PURE: how messages name GPUs, instances, placements and processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.hardware.clients.ports import Client
from agent.hardware.types import ComputeSpec, MigSpec
from agent.inventory.foreign.texts import slices_text
from agent.inventory.numbers.numbering import NumberedGpu

MOST_NAMED: Final = 5
"""So many processes are named; others are counted."""


def gpu_text(gpu: NumberedGpu) -> str:
    """Return a GPU's number and UUID."""
    return f"GPU {gpu.number} ({gpu.uuid})"


def mig_partition_text(spec: MigSpec, gpu: NumberedGpu) -> str:
    """Return a wanted MIG partition by its memory slices."""
    return f"a MIG partition at memory slices {slices_text(spec.placement)} of {gpu_text(gpu)}"


def compute_instance_text(spec: ComputeSpec, gpu: NumberedGpu) -> str:
    """Return a wanted compute instance by its compute slices and the memory slices of its GI."""
    where = f"memory slices {slices_text(spec.partition.placement)} of {gpu_text(gpu)}"
    return f"a compute instance at compute slices {slices_text(spec.place)} of the GI at {where}"


def clients_text(clients: Sequence[Client]) -> str:
    """Return processes by name and number: five of them, and how many more there are."""
    named = ", ".join(map(str, clients[:MOST_NAMED]))
    more = len(clients) - MOST_NAMED
    return f"{named} and {more} more" if more > 0 else named
