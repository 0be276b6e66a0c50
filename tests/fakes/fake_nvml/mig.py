"""The part of the library that cuts GPUs."""

from __future__ import annotations

from typing import Any

import pynvml

from agent.hardware.ports import Gpus
from agent.hardware.types import MIB, ComputeMode, GpuInstance, MigSpec, ModeChange, Placement
from fake_nvml.c import Refused, c_function
from fake_nvml.health import Health
from fake_nvml.models import shipped_models

STATUS = {
    ModeChange.ACTIVE: pynvml.NVML_SUCCESS,
    ModeChange.PENDING_IN_USE: pynvml.NVML_ERROR_IN_USE,
    ModeChange.PENDING_RESET: pynvml.NVML_ERROR_RESET_REQUIRED,
}

COMPUTE_MODES = (
    ComputeMode.DEFAULT,
    ComputeMode.EXCLUSIVE_THREAD,
    ComputeMode.PROHIBITED,
    ComputeMode.EXCLUSIVE_PROCESS,
)


class FakeLibrary(Health):
    """The whole library.

    What the port does not know, NVML's constants and the compute profiles, comes from the shipped models.
    A test may change ``models`` and: ``known_constants``, from which on a constant is invalid;
    ``tells_names``, no on old drivers; ``places_cis``, no on old drivers; ``refused_compute_profiles``,
    offered and then not supported at creation. ``created_compute_profiles`` keeps what was asked for.
    """

    def __init__(self, gpus: Gpus) -> None:
        super().__init__(gpus)
        self.known_constants = pynvml.NVML_GPU_INSTANCE_PROFILE_COUNT
        self.tells_names = True
        self.places_cis = True
        self.refused_compute_profiles: set[int] = set()
        self.created_compute_profiles: list[int] = []
        self.models = shipped_models()

    @c_function
    def nvmlDeviceGetMigMode(self, device, current, pending):
        mode = self.gpus.mig_mode(self._thing(device)[1])
        if mode is None:
            raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
        current._obj.value, pending._obj.value = mode.current, mode.pending

    @c_function
    def nvmlDeviceSetMigMode(self, device, mode, status):
        status._obj.value = STATUS[self.gpus.set_mig_mode(self._thing(device)[1], mode == 1)]

    @c_function
    def nvmlDeviceGetComputeMode(self, device, mode):
        mode._obj.value = COMPUTE_MODES.index(self.gpus.compute_mode(self._thing(device)[1]))

    @c_function
    def nvmlDeviceSetComputeMode(self, device, mode):
        self.gpus.set_compute_mode(self._thing(device)[1], COMPUTE_MODES[mode])

    @c_function
    def nvmlDeviceGetComputeRunningProcesses_v3(self, device, count, processes):
        found = self.gpus.processes(self._thing(device)[1])
        room, count._obj.value = count._obj.value, len(found)
        if len(found) > room:
            raise Refused(pynvml.NVML_ERROR_INSUFFICIENT_SIZE)
        for at, pid in enumerate(found):
            processes[at].pid = pid

    def nvmlDeviceGetComputeRunningProcesses_v2(self, device, count, processes):
        return FakeLibrary.nvmlDeviceGetComputeRunningProcesses_v3(self, device, count, processes)

    @c_function
    def nvmlDeviceGetGraphicsRunningProcesses_v3(self, device, count, processes):
        self._thing(device)
        count._obj.value = 0

    def nvmlDeviceGetGraphicsRunningProcesses_v2(self, device, count, processes):
        return FakeLibrary.nvmlDeviceGetGraphicsRunningProcesses_v3(self, device, count, processes)

    @c_function
    def nvmlDeviceGetGpuInstanceProfileInfo(self, device, constant, info):
        self._gpu_instance_profile(device, constant, info._obj)

    @c_function
    def nvmlDeviceGetGpuInstanceProfileInfoV(self, device, constant, info):
        if not self.tells_names:
            raise Refused(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        profile = self._gpu_instance_profile(device, constant, info._obj)
        info._obj.name = f"MIG {profile.name}".encode()

    @c_function
    def nvmlDeviceGetGpuInstancePossiblePlacements_v2(self, device, profile_id, placements, count):
        profile = self._profile(self._thing(device)[1], profile_id)
        count._obj.value = len(profile.placements)
        for at, placement in enumerate(profile.placements if placements is not None else ()):
            placements[at].start, placements[at].size = placement.start, placement.size

    @c_function
    def nvmlDeviceCreateGpuInstanceWithPlacement(self, device, profile_id, placement, instance):
        uuid = self._thing(device)[1]
        wanted = Placement(placement._obj.start, placement._obj.size)
        gi_id = self.gpus.create_gpu_instance(MigSpec(uuid, profile_id, wanted))
        self._hand_out(instance._obj, "gi", uuid, gi_id)

    @c_function
    def nvmlDeviceGetGpuInstances(self, device, profile_id, instances, count):
        uuid = self._thing(device)[1]
        found = [gi.gi_id for gi in self._mig_on(uuid) if gi.profile_id == profile_id]
        count._obj.value = len(found)
        for at, gi_id in enumerate(found):
            instances[at] = self._handle(instances._type_, "gi", uuid, gi_id)

    @c_function
    def nvmlDeviceGetGpuInstanceById(self, device, gi_id, instance):
        uuid = self._thing(device)[1]
        if all(gi.gi_id != gi_id for gi in self._mig_on(uuid)):
            raise Refused(pynvml.NVML_ERROR_NOT_FOUND)
        self._hand_out(instance._obj, "gi", uuid, gi_id)

    @c_function
    def nvmlGpuInstanceGetInfo(self, instance, info):
        found = self._gpu_instance(instance)
        info._obj.device = self._handle(pynvml.c_nvmlDevice_t, "gpu", found.parent)
        info._obj.id, info._obj.profileId = found.gi_id, found.profile_id
        info._obj.placement.start, info._obj.placement.size = found.placement.start, found.placement.size

    @c_function
    def nvmlGpuInstanceDestroy(self, instance):
        self.gpus.destroy_gpu_instance(*self._thing(instance)[1:])

    @c_function
    def nvmlGpuInstanceGetComputeInstanceProfileInfoV(self, instance, constant, engines, info):
        if constant >= pynvml.NVML_COMPUTE_INSTANCE_PROFILE_COUNT:
            raise Refused(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        row = self._compute_rows(instance).get(constant)
        if row is None:
            raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
        info._obj.id, info._obj.sliceCount = constant, row["slice_count"]
        info._obj.instanceCount = row["max_instances"]
        info._obj.multiprocessorCount = row["multiprocessors"] or 0

    @c_function
    def nvmlGpuInstanceGetComputeInstanceProfileInfo(self, instance, constant, engines, info):
        raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)

    @c_function
    def nvmlGpuInstanceCreateComputeInstance(self, instance, profile_id, created):
        if profile_id in self.refused_compute_profiles or profile_id not in self._compute_rows(instance):
            raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
        _, uuid, gi_id = self._thing(instance)
        made = self.gpus.create_compute_instance(uuid, gi_id)
        self.created_compute_profiles.append(profile_id)
        self._hand_out(created._obj, "ci", uuid, gi_id, made.ci_id)

    @c_function
    def nvmlGpuInstanceCreateComputeInstanceWithPlacement(self, instance, profile_id, placement, created):
        if not self.places_cis:
            raise Refused(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        row = self._compute_rows(instance).get(profile_id)
        if row is None or profile_id in self.refused_compute_profiles:
            raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
        place = Placement(placement._obj.start, placement._obj.size)
        if place.size != row["slice_count"]:
            raise Refused(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        _, uuid, gi_id = self._thing(instance)
        made = self.gpus.create_compute_instance(uuid, gi_id, place)
        self.created_compute_profiles.append(profile_id)
        self._hand_out(created._obj, "ci", uuid, gi_id, made.ci_id)

    @c_function
    def nvmlGpuInstanceGetComputeInstances(self, instance, profile_id, instances, count):
        _, uuid, gi_id = self._thing(instance)
        row = self._compute_rows(instance)[profile_id]
        width = None if row["default"] else row["slice_count"]
        existing = self._gpu_instance(instance).compute_instances
        found = [ci for ci in existing if (ci.place.size if ci.place else None) == width]
        count._obj.value = len(found)
        for at, ci in enumerate(found):
            instances[at] = self._handle(instances._type_, "ci", uuid, gi_id, ci.ci_id)

    @c_function
    def nvmlGpuInstanceGetComputeInstanceById(self, instance, ci_id, found):
        if all(ci.ci_id != ci_id for ci in self._gpu_instance(instance).compute_instances):
            raise Refused(pynvml.NVML_ERROR_NOT_FOUND)
        self._hand_out(found._obj, "ci", *self._thing(instance)[1:], ci_id)

    @c_function
    def nvmlComputeInstanceGetInfo_v2(self, instance, info):
        _, uuid, gi_id, ci_id = self._thing(instance)
        gi = self._gpu_instance(self._handle(pynvml.c_nvmlGpuInstance_t, "gi", uuid, gi_id))
        (found,) = (ci for ci in gi.compute_instances if ci.ci_id == ci_id)
        info._obj.id = ci_id
        if found.place is not None:
            info._obj.placement.start, info._obj.placement.size = found.place.start, found.place.size
        info._obj.device = self._handle(pynvml.c_nvmlDevice_t, "mig", found.uuid)

    @c_function
    def nvmlComputeInstanceDestroy(self, instance):
        self.gpus.destroy_compute_instance(*self._thing(instance)[1:])

    def _mig_on(self, uuid: Any) -> tuple[GpuInstance, ...]:
        mode = self.gpus.mig_mode(uuid)
        if mode is None or not mode.current:
            raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return self.gpus.gpu_instances(uuid)

    def _gpu_instance(self, instance: Any) -> GpuInstance:
        _, uuid, gi_id = self._thing(instance)
        found = [gi for gi in self._mig_on(uuid) if gi.gi_id == gi_id]
        if not found:
            raise Refused(pynvml.NVML_ERROR_NOT_FOUND)
        return found[0]

    def _profile(self, uuid: Any, profile_id: int) -> Any:
        found = [profile for profile in self.gpus.profiles(uuid) if profile.profile_id == profile_id]
        if not found:
            raise Refused(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        return found[0]

    def _rows(self, device: Any) -> list[dict[str, Any]]:
        return self.models[self._gpu(device).product_name]["gpu_instance_profiles"]

    def _gpu_instance_profile(self, device: Any, constant: int, info: Any) -> Any:
        if constant >= self.known_constants:
            raise Refused(pynvml.NVML_ERROR_INVALID_ARGUMENT)
        ids = [row["profile_id"] for row in self._rows(device) if row["nvml_profile_id"] == constant]
        offered = {profile.profile_id: profile for profile in self.gpus.profiles(self._thing(device)[1])}
        if not ids or ids[0] not in offered:
            raise Refused(pynvml.NVML_ERROR_NOT_SUPPORTED)
        profile = offered[ids[0]]
        info.id, info.sliceCount, info.instanceCount = (
            profile.profile_id,
            profile.compute_slices,
            profile.max_instances,
        )
        info.memorySizeMB, info.multiprocessorCount = profile.memory_bytes // MIB, profile.multiprocessors
        info.copyEngineCount, info.decoderCount = profile.copy_engines, profile.decoders
        info.encoderCount, info.jpegCount, info.ofaCount = (
            profile.encoders,
            profile.jpeg_engines,
            profile.ofa_engines,
        )
        return profile

    def _compute_rows(self, instance: Any) -> dict[int, dict[str, Any]]:
        found = self._gpu_instance(instance)
        device = self._handle(pynvml.c_nvmlDevice_t, "gpu", found.parent)
        (row,) = (row for row in self._rows(device) if row["profile_id"] == found.profile_id)
        return {ci["nvml_profile_id"]: ci for ci in row["compute_instance_profiles"]}
