"""The rules of MIG hardware: pure functions from one GPU's state to the next.

Takes a ``Card`` and a ``GpuState``; returns the next state, or a ``HardwareError``. Source: NVIDIA MIG User
Guide; nvml.h; NVML return codes as drivers and tools report them.
"""

from __future__ import annotations

from msgspec.structs import replace

from agent.hardware.errors import InsufficientResources, InUse, InvalidArgument, NotFound, NotSupported
from agent.hardware.simulated.devices import Card
from agent.hardware.simulated.state import ComputeState, GpuState, InstanceState
from agent.hardware.types import ComputeMode, MigProfile, ModeChange, Placement, TimeSlice

COMPUTE_INSTANCE_ID = 0
"""The id of a compute instance that fills its GPU instance."""


def set_mode(
    card: Card, state: GpuState, enabled: bool, *, is_held: bool, is_passthrough: bool
) -> tuple[GpuState, ModeChange]:
    """Request a MIG mode; the request stays pending if the GPU cannot change now."""
    attempted = f"turn MIG mode {'on' if enabled else 'off'}"
    if not card.model.is_mig_capable:
        raise NotSupported(attempted, str(card), f"the {card.model.product_name} has no MIG")
    if not enabled and state.instances:
        raise InUse(attempted, str(card), f"it has GPU instances: {_listed(card, state.instances)}")
    if enabled == state.mig_current:
        return replace(state, mig_pending=enabled), ModeChange.ACTIVE
    if is_held:
        return replace(state, mig_pending=enabled), ModeChange.PENDING_IN_USE
    if card.model.changes_mode_by_reset and is_passthrough:
        return replace(state, mig_pending=enabled), ModeChange.PENDING_RESET
    changed = replace(state, mig_current=enabled, mig_pending=enabled)
    return replace(changed, compute_mode=ComputeMode.DEFAULT), ModeChange.ACTIVE


def set_compute_mode(card: Card, state: GpuState, mode: ComputeMode) -> GpuState:
    """Set a compute mode. In MIG mode there is the default one alone. Source: nvml.h."""
    if state.mig_current and mode is not ComputeMode.DEFAULT:
        raise NotSupported(f"set compute mode {mode}", str(card), "its MIG mode is on")
    return replace(state, compute_mode=mode)


def set_time_slice(card: Card, state: GpuState, interval: TimeSlice) -> GpuState:
    """Set an interval. It is for programs that use the whole GPU, so a GPU in MIG mode takes none."""
    if state.mig_current:
        raise NotSupported(f"set the interval {interval.name.title()}", str(card), "its MIG mode is on")
    return replace(state, time_slice=interval)


def after_reset(state: GpuState) -> GpuState:
    """Return the state after a reset: a pending mode takes effect, no instance survives."""
    return GpuState(state.mig_pending, state.mig_pending)


def after_reboot(card: Card, state: GpuState) -> GpuState:
    """Return the state after a reboot. Ampere keeps the mode; later models lose it with the driver."""
    return after_reset(state) if card.model.changes_mode_by_reset else GpuState()


def create_gpu_instance(
    card: Card, state: GpuState, profile_id: int, placement: Placement
) -> tuple[GpuState, int]:
    """Create a GPU instance and return its id."""
    attempted = f"create GPU instance of profile {profile_id} at {placement.start}:{placement.size}"
    _need_mig(card, state, attempted)
    profile = card.model.profile(profile_id)
    if profile is None:
        known = ", ".join(f"{each.profile_id} ({each.name})" for each in card.model.profiles)
        raise InvalidArgument(attempted, str(card), f"it has no such profile, only {known}")
    if placement not in profile.placements:
        places = ", ".join(f"{place.start}:{place.size}" for place in profile.placements)
        raise InvalidArgument(attempted, str(card), f"{profile.name} may lie at {places}")
    refusal = _refusal(card, state, profile, placement)
    if refusal:
        raise InsufficientResources(attempted, str(card), refusal)
    gi_id = instance_id(card.model.memory_slices, placement)
    created = InstanceState(gi_id, profile_id, placement.start, placement.size)
    instances = sorted((*state.instances, created), key=lambda instance: instance.gi_id)
    return replace(state, instances=tuple(instances)), gi_id


def instance_id(memory_slices: int, placement: Placement) -> int:
    """Return the id of a GPU instance: its place in a binary division, as drivers number them.

    Shape: the whole is 0, halves are 1 and 2, quarters 3 to 6, eighths 7 to 14; of two halves the upper one
           comes first. This was seen on hardware and is not documented, so no code may rely on it.
    """
    parts, at = memory_slices // placement.size, placement.start // placement.size
    return 2 - at if parts == 2 else parts - 1 + at


def create_compute_instance(card: Card, state: GpuState, gi_id: int, uuid: str) -> GpuState:
    """Create the compute instance that fills a GPU instance."""
    attempted = f"create compute instance in GPU instance {gi_id}"
    instance = _instance(card, state, gi_id, attempted)
    _refuse_full(card, instance, attempted)
    if instance.narrow:
        listed = ", ".join(compute.uuid for compute in instance.narrow)
        raise InsufficientResources(attempted, str(card), f"compute instances {listed} lie in it")
    return _with(state, replace(instance, ci_uuid=uuid))


def create_narrow_instance(
    card: Card, state: GpuState, gi_id: int, place: Placement, uuid: str
) -> tuple[GpuState, int]:
    """Create a compute instance that leaves room in its GPU instance, and return its id.

    Units: ``place`` compute slices.
    """
    attempted = f"create compute instance at {place.start}:{place.size} in GPU instance {gi_id}"
    instance = _instance(card, state, gi_id, attempted)
    places = [
        Placement(start, narrower.width)
        for narrower in _profile(card, instance).narrower
        for start in narrower.starts
    ]
    if place not in places:
        listed = ", ".join(f"{each.start}:{each.size}" for each in places) or "no place"
        raise InvalidArgument(attempted, str(card), f"narrower ones may lie at {listed}")
    _refuse_full(card, instance, attempted)
    for held in instance.narrow:
        if place.overlaps(Placement(held.start, held.size)):
            raise InsufficientResources(attempted, str(card), f"compute instance {held.uuid} lies there")
    known = {compute.ci_id for compute in instance.narrow}
    ci_id = next(number for number in range(len(known) + 1) if number not in known)
    created = ComputeState(ci_id, place.start, place.size, uuid)
    narrow = sorted((*instance.narrow, created), key=lambda compute: compute.ci_id)
    return _with(state, replace(instance, narrow=tuple(narrow))), ci_id


def destroy_compute_instance(card: Card, state: GpuState, gi_id: int, ci_id: int) -> GpuState:
    """Destroy a compute instance."""
    attempted = f"destroy compute instance {ci_id} of GPU instance {gi_id}"
    instance = _instance(card, state, gi_id, attempted)
    if ci_id not in compute_ids(instance):
        raise NotFound(attempted, str(card), f"GPU instance {gi_id} has no such compute instance")
    narrow = tuple(compute for compute in instance.narrow if compute.ci_id != ci_id)
    return _with(state, replace(instance, ci_uuid=None, narrow=narrow))


def destroy_gpu_instance(card: Card, state: GpuState, gi_id: int) -> GpuState:
    """Destroy a GPU instance, which must have no compute instance."""
    attempted = f"destroy GPU instance {gi_id}"
    instance = _instance(card, state, gi_id, attempted)
    if compute_ids(instance):
        listed = ", ".join(filter(None, (instance.ci_uuid, *(one.uuid for one in instance.narrow))))
        raise InUse(attempted, str(card), f"compute instance {listed} lies in it")
    return replace(state, instances=tuple(each for each in state.instances if each.gi_id != gi_id))


def compute_ids(instance: InstanceState) -> tuple[int, ...]:
    """Return the ids of the compute instances of a GPU instance."""
    filling = () if instance.ci_uuid is None else (COMPUTE_INSTANCE_ID,)
    return (*filling, *(compute.ci_id for compute in instance.narrow))


def _refuse_full(card: Card, instance: InstanceState, attempted: str) -> None:
    if instance.ci_uuid is not None:
        raise InsufficientResources(attempted, str(card), f"compute instance {instance.ci_uuid} fills it")


def _need_mig(card: Card, state: GpuState, attempted: str) -> None:
    if not card.model.is_mig_capable:
        raise NotSupported(attempted, str(card), f"the {card.model.product_name} has no MIG")
    if not state.mig_current:
        raise NotSupported(attempted, str(card), "its MIG mode is off")


def _instance(card: Card, state: GpuState, gi_id: int, attempted: str) -> InstanceState:
    _need_mig(card, state, attempted)
    for instance in state.instances:
        if instance.gi_id == gi_id:
            return instance
    raise NotFound(attempted, str(card), f"it has no GPU instance {gi_id}")


def _with(state: GpuState, changed: InstanceState) -> GpuState:
    instances = (changed if each.gi_id == changed.gi_id else each for each in state.instances)
    return replace(state, instances=tuple(instances))


def _refusal(card: Card, state: GpuState, profile: MigProfile, placement: Placement) -> str:
    """Return why there is no room, empty if there is room."""
    taken = range(placement.start, placement.start + placement.size)
    holders = [
        each for each in state.instances if each.start < taken.stop and taken.start < each.start + each.size
    ]
    if holders:
        return f"the memory slices are held by {_listed(card, tuple(holders))}"
    alike = [each for each in state.instances if each.profile_id == profile.profile_id]
    if len(alike) >= profile.max_instances:
        return f"at most {profile.max_instances} of {profile.name} can exist"
    living = [_profile(card, each) for each in state.instances]
    for engine, limit in card.model.engines.items():
        left = limit - sum(getattr(each, engine) for each in living)
        wanted = getattr(profile, engine)
        if wanted > left:
            return f"{profile.name} needs {wanted} {engine.replace('_', ' ')}, {left} of {limit} are left"
    return ""


def _profile(card: Card, instance: InstanceState) -> MigProfile:
    profile: MigProfile | None = card.model.profile(instance.profile_id)
    assert profile is not None
    return profile


def _listed(card: Card, instances: tuple[InstanceState, ...]) -> str:
    return ", ".join(
        f"GI {each.gi_id} ({_profile(card, each).name} at {each.start}:{each.size})" for each in instances
    )
