"""PURE: how messages of agent and plugin name instances, and what they say of foreign ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agent.hardware.types import GpuInstance, Placement
from agent.inventory.foreign.rule import ForeignInstance

NO_CLAIM: Final = "and no claim of this driver created it"
"""The end of every sentence about something foreign."""


def instances_text(instances: Iterable[GpuInstance]) -> str:
    """Return instances by id, memory slices and the UUIDs of their MIG devices."""
    return ", ".join(_instance_text(instance) for instance in instances)


def foreign_text(foreign: ForeignInstance) -> str:
    """Return what is foreign, as the subject of a sentence."""
    of_instance = instances_text([foreign.instance])
    return of_instance if foreign.compute is None else f"{foreign.compute.uuid} in {of_instance}"


def of_no_claim(what: str) -> str:
    """Return why a device cannot be had: ``what`` exists in its place, and it belongs to no claim."""
    return f"{what} exists, {NO_CLAIM}"


def slices_text(placement: Placement) -> str:
    """Return the first and the last slice of a placement."""
    return f"{placement.start}-{placement.start + placement.size - 1}"


def _instance_text(instance: GpuInstance) -> str:
    uuids = ", ".join(compute.uuid for compute in instance.compute_instances)
    slices = slices_text(instance.placement)
    return f"GI {instance.gi_id} (memory slices {slices}, {uuids or 'without a CI'})"
