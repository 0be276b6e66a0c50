"""``libnvfm`` as a Python object, over anything with our ``FabricManager`` port.

The adapter loads it in the place of the library file. It reads and fills structures through the pointers
that it gets, and refuses what the library refuses: wrong versions, calls before the initialization, strange
handles.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_void_p
from typing import Any

from agent.hardware import errors
from agent.hardware.fabric.nvfm.structures import (
    ConnectParametersV1,
    ConnectParametersV2,
    PartitionList,
    version_of,
)
from agent.hardware.fabric.ports import FabricManager

SUCCESS, BADPARAM, GENERIC_ERROR, NOT_SUPPORTED, UNINITIALIZED, TIMEOUT = 0, -1, -2, -3, -4, -5
VERSION_MISMATCH, IN_USE, NOT_CONFIGURED, CONNECTION_NOT_VALID, NVLINK_ERROR = -6, -7, -8, -9, -10
CODES = {
    errors.NotSupported: NOT_SUPPORTED,
    errors.TimedOut: TIMEOUT,
    errors.InUse: IN_USE,
    errors.NotThereYet: NOT_CONFIGURED,
    errors.FabricUnavailable: CONNECTION_NOT_VALID,
    errors.HardwareFault: GENERIC_ERROR,
}
HANDLE = 4711


class FakeLibrary:
    """The library of one process.

    A test may change: ``newest``, the newest parameters of a connection that it knows (1 or 2); ``answers``,
    codes that functions give, by name, whatever they are asked; ``identities``, UUIDs and addresses of GPUs
    by physical id, which it tells as before HGX H100. ``connected`` keeps the address, its kind and the
    timeout of each connection; ``is_open`` says whether one is open.
    """

    def __init__(self, fabric: FabricManager) -> None:
        self.fabric = fabric
        self.newest = 2
        self.answers: dict[str, int] = {}
        self.identities: dict[int, tuple[str, str]] = {}
        self.connected: list[tuple[bytes, int, int]] = []
        self.initializations = 0
        self.is_open = False

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name.startswith("fm") and name in self.answers:
            return lambda *_: self.answers[name]
        return found

    def fmLibInit(self) -> int:
        self.initializations += 1
        return SUCCESS if self.initializations == 1 else IN_USE

    def fmConnect(self, parameters: Any, handle: Any) -> int:
        given = parameters._obj
        known = {1: ConnectParametersV1, 2: ConnectParametersV2}[self.newest]
        if not self.initializations:
            return UNINITIALIZED
        if given.version != version_of(known, self.newest):
            return VERSION_MISMATCH
        if (given.addressIsUnixSocket == 1) != (getattr(given, "addressType", 2) == 2) and self.newest == 2:
            return BADPARAM
        try:
            self.fabric.partitions()
        except errors.FabricUnavailable:
            return CONNECTION_NOT_VALID
        except errors.HardwareError:
            pass  # it runs, and says so only when it is asked
        self.connected.append((given.addressInfo, given.addressIsUnixSocket, given.timeoutMs))
        handle._obj.value = HANDLE
        self.is_open = True
        return SUCCESS

    def fmDisconnect(self, handle: c_void_p) -> int:
        self.is_open = False
        return SUCCESS if handle.value == HANDLE else BADPARAM

    def fmGetSupportedFabricPartitions(self, handle: c_void_p, found: Any) -> int:
        if found._obj.version != version_of(PartitionList, 1):
            return VERSION_MISMATCH
        return self._answer(handle, lambda: self._fill(found._obj))

    def fmActivateFabricPartition(self, handle: c_void_p, partition: Any) -> int:
        unknown = {errors.NotFound: BADPARAM}
        return self._answer(handle, lambda: self.fabric.activate(partition.value), unknown)

    def fmDeactivateFabricPartition(self, handle: c_void_p, partition: Any) -> int:
        is_known = any(one.id == partition.value for one in self._listed())
        code = UNINITIALIZED if is_known else BADPARAM
        return self._answer(handle, lambda: self.fabric.deactivate(partition.value), {errors.NotFound: code})

    def _listed(self) -> tuple[Any, ...]:
        try:
            return self.fabric.partitions()
        except errors.HardwareError:
            return ()

    def _fill(self, found: PartitionList) -> None:
        listed = self.fabric.partitions()
        found.numPartitions = found.maxNumPartitions = len(listed)
        # The order is the library's own affair.
        for place, partition in zip(found.partitionInfo, reversed(listed), strict=False):
            place.partitionId, place.isActive = partition.id, partition.is_active
            place.numGpus = len(partition.gpus)
            for gpu, known in zip(place.gpuInfo, partition.gpus, strict=False):
                gpu.physicalId = known.physical_id
                uuid, address = self.identities.get(known.physical_id, ("", "00000000:00:00.0"))
                gpu.uuid, gpu.pciBusId = uuid.encode(), address.encode()
                gpu.numNvLinksAvailable = gpu.maxNumNvLinks = 18
                gpu.nvlinkLineRateMBps = (partition.bandwidth or 0) // 18 // 10**6

    def _answer(self, handle: c_void_p, deed: Callable[[], None], more: Any = None) -> int:
        if handle.value != HANDLE or not self.is_open:
            return BADPARAM
        return _code_of(deed, {**CODES, **(more or {})})


def _code_of(deed: Callable[[], None], codes: dict[type[errors.HardwareError], int]) -> int:
    try:
        deed()
    except errors.HardwareError as error:
        return codes.get(type(error), GENERIC_ERROR)
    return SUCCESS
