"""PURE: which MIG instance is that of which claim's device. Agent and plugin share this one rule.

The driver reuses the ids of instances, never their UUIDs, so nothing counts as a claim's by its id alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from agent.hardware.types import ComputeInstance, GpuInstance, MigSpec, Placement


class HeldInstance(Protocol):
    """What a claim's record says of a MIG device of the claim. It is durable before the instance exists."""

    @property
    def spec(self) -> MigSpec:
        """Return the GI."""
        ...

    @property
    def place(self) -> Placement | None:
        """Return the place of the CI in a GI that claims share, None for a CI that fills its GI."""
        ...

    @property
    def gi_id(self) -> int | None:
        """Return the id of the GI, None until it is known to exist."""
        ...

    @property
    def mig_uuid(self) -> str | None:
        """Return the UUID of the MIG device, None until the CI is known to exist."""
        ...


@dataclass(frozen=True, slots=True)
class ForeignInstance:
    """What no claim of this driver has: a GI, or one CI in a GI of claims.

    Shape: ``compute`` is None where the whole GI is foreign.
    """

    instance: GpuInstance
    compute: ComputeInstance | None = None


def foreign_in(instances: Iterable[GpuInstance], held: Iterable[HeldInstance]) -> tuple[ForeignInstance, ...]:
    """Return what of some instances is none of the held ones, in the order of the instances."""
    known = tuple(held)
    return tuple(found for instance in instances for found in _foreign_of(instance, known))


def _foreign_of(instance: GpuInstance, held: tuple[HeldInstance, ...]) -> Iterator[ForeignInstance]:
    holders = [one for one in held if is_ours(instance, one)]
    if not holders:
        yield ForeignInstance(instance)
        return
    if any(one.place is None for one in holders):
        return
    parts = [one for one in held if one.place is not None and one.spec == instance.spec]
    for compute in instance.compute_instances:
        if not any(is_own_compute(compute, instance, one) for one in parts):
            yield ForeignInstance(instance, compute)


def is_ours(instance: GpuInstance, held: HeldInstance) -> bool:
    """Whether a GI is the one of a claimed MIG partition, or of a claimed compute instance.

    A GI's id is recorded before a CI is created in it. So a GI that has a CI, but no recorded id, was made by
    somebody else. So was one whose CI has another UUID than the recorded one: the driver reused our id.
    Where the line with the id was lost, a UUID that was told to containers is proof enough.
    """
    if instance.spec != held.spec:
        return False
    uuids = {compute.uuid for compute in instance.compute_instances}
    if held.gi_id is None:
        return not uuids if held.mig_uuid is None else held.mig_uuid in uuids
    return instance.gi_id == held.gi_id and (not uuids or held.mig_uuid is None or held.mig_uuid in uuids)


def is_own_compute(compute: ComputeInstance, instance: GpuInstance, held: HeldInstance) -> bool:
    """Whether a CI is that of a device: by its UUID, or at its place in its GI if no UUID is recorded yet.

    The GI's id is recorded before the CI is created, so a device without it has none. No two records are of
    one place, so what is at the place of a device without a UUID is its own. Where the line with the GI's id
    was lost, a UUID that was told to containers is proof enough.
    """
    is_id_lost = held.gi_id is None and held.mig_uuid is not None
    if held.gi_id != instance.gi_id and not is_id_lost:
        return False
    if held.mig_uuid is not None:
        return compute.uuid == held.mig_uuid
    return compute.place == held.place
