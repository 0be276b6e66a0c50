"""PURE: how messages name GPUs, instances and placements."""

from __future__ import annotations

from collections.abc import Iterable

from agent.hardware.types import ComputeSpec, GpuInstance, MigSpec, Placement
from agent.inventory.numbers.numbering import NumberedGpu


def gpu_text(gpu: NumberedGpu) -> str:
    """Return a GPU's number and UUID."""
    return f"GPU {gpu.number} ({gpu.uuid})"


def instances_text(instances: Iterable[GpuInstance]) -> str:
    """Return instances by id, memory slices and the UUIDs of their MIG devices."""
    return ", ".join(_instance_text(instance) for instance in instances)


def mig_partition_text(spec: MigSpec, gpu: NumberedGpu) -> str:
    """Return a wanted MIG partition by its memory slices."""
    return f"a MIG partition at memory slices {_slices(spec.placement)} of {gpu_text(gpu)}"


def compute_instance_text(spec: ComputeSpec, gpu: NumberedGpu) -> str:
    """Return a wanted compute instance by its compute slices and the memory slices of its GI."""
    where = f"memory slices {_slices(spec.partition.placement)} of {gpu_text(gpu)}"
    return f"a compute instance at compute slices {_slices(spec.place)} of the GI at {where}"


def _instance_text(instance: GpuInstance) -> str:
    uuids = ", ".join(compute.uuid for compute in instance.compute_instances)
    return f"GI {instance.gi_id} (memory slices {_slices(instance.placement)}, {uuids or 'without a CI'})"


def _slices(placement: Placement) -> str:
    return f"{placement.start}-{placement.start + placement.size - 1}"
