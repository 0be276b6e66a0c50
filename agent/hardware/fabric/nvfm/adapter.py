"""Implements the ``FabricManager`` port with ``libnvfm.so.1``.

The library is loaded at the first call that needs it. Every call connects anew, since a connection does not
outlive the fabric manager, and calls are rare. The library is not said to be safe for threads, so one lock
holds them apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from ctypes import CDLL, byref, c_uint, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Final

from agent.hardware.errors import FabricUnavailable
from agent.hardware.fabric.configuration import FabricSettings, read_settings
from agent.hardware.fabric.nvfm.calls import ABOUT_PARTITION, SUBJECT, Code, call, code_of, refusal
from agent.hardware.fabric.nvfm.structures import (
    INET,
    UNIX,
    ConnectParametersV1,
    ConnectParametersV2,
    Partition,
    PartitionGpu,
    PartitionList,
    version_of,
)
from agent.hardware.fabric.types import FabricGpu, FabricMode, FabricPartition
from agent.hardware.types import Bdf, GpuUuid, normal_bdf

_LIBRARY: Final = "libnvfm.so.1"
_TIMEOUT_MS: Final = 5000
_INSTALL: Final = "the operator installs the package nvidia-fabricmanager-devel in the driver's version"
_NOWHERE: Final = "0000:00:00.0"


def _load(path: Path) -> Any:
    return CDLL(os.fspath(path))


@dataclass(slots=True)
class Nvfm:
    """The fabric manager of this node.

    Shape: ``roots`` where its configuration may be, ``library`` the place of ``libnvfm``, None where it is
           not installed; ``load`` opens a library file.
    """

    roots: Sequence[Path]
    library: Callable[[], Path | None]
    load: Callable[[Path], Any] = _load
    _calling: Lock = field(default_factory=Lock, init=False, repr=False)
    _loaded: Any = field(default=None, init=False, repr=False)

    def mode(self) -> FabricMode:
        """Return how the fabric manager is configured to run. Raises: HardwareFault."""
        return read_settings(self.roots).mode

    def partitions(self) -> tuple[FabricPartition, ...]:
        """Return the supported partitions by id. Raises: HardwareError."""
        attempted = "list the fabric partitions"
        found = PartitionList(version=version_of(PartitionList, 1))
        with self._connected(attempted) as (library, handle):
            call(attempted, library.fmGetSupportedFabricPartitions, handle, byref(found))
        listed = (_partition(one) for one in found.partitionInfo[: found.numPartitions])
        return tuple(sorted(listed, key=lambda one: one.id))

    def activate(self, partition: int) -> None:
        """Join the GPUs of a partition. Raises: NotFound, InUse; HardwareError."""
        attempted = f"activate fabric partition {partition}"
        with self._connected(attempted) as (library, handle):
            function = library.fmActivateFabricPartition
            call(attempted, function, handle, c_uint(partition), special=ABOUT_PARTITION)

    def deactivate(self, partition: int) -> None:
        """Deactivate a partition, which parts its GPUs.

        Raises: NotFound where it is not active; HardwareError.
        """
        attempted = f"deactivate fabric partition {partition}"
        with self._connected(attempted) as (library, handle):
            function = library.fmDeactivateFabricPartition
            call(attempted, function, handle, c_uint(partition), special=ABOUT_PARTITION)

    @contextmanager
    def _connected(self, attempted: str) -> Iterator[tuple[Any, c_void_p]]:
        """Connect for the length of a block. Raises: FabricUnavailable; HardwareError."""
        settings = read_settings(self.roots)
        with self._calling:
            library, handle = self._opened(attempted), c_void_p()
            _connect(attempted, library, settings, handle)
            try:
                yield library, handle
            finally:
                code_of(library.fmDisconnect, handle)

    def _opened(self, attempted: str) -> Any:
        if self._loaded is None:
            library = self._file(attempted)
            code = code_of(library.fmLibInit)
            if code not in (Code.SUCCESS, Code.IN_USE):
                raise refusal(attempted, code)
            self._loaded = library
        return self._loaded

    def _file(self, attempted: str) -> Any:
        path = self.library()
        if path is None:
            reason = f"its library {_LIBRARY} is not installed"
            raise FabricUnavailable(attempted, SUBJECT, reason, _INSTALL)
        try:
            return self.load(path)
        except OSError as error:
            raise FabricUnavailable(attempted, SUBJECT, f"{path}: {error}", _INSTALL) from error


def _connect(attempted: str, library: Any, settings: FabricSettings, handle: c_void_p) -> None:
    """Connect with the newest parameters that the library knows. Raises: FabricUnavailable; HardwareError."""
    common = (os.fsencode(settings.address), _TIMEOUT_MS, settings.is_unix_socket)
    kind = UNIX if settings.is_unix_socket else INET
    newer = ConnectParametersV2(version_of(ConnectParametersV2, 2), *common, kind)
    older = ConnectParametersV1(version_of(ConnectParametersV1, 1), *common)
    code = code_of(library.fmConnect, byref(newer), byref(handle))
    if code == Code.VERSION_MISMATCH:
        code = code_of(library.fmConnect, byref(older), byref(handle))
    if code == Code.CONNECTION_NOT_VALID:
        raise FabricUnavailable(attempted, SUBJECT, f"nothing answers at {settings.address}")
    if code != Code.SUCCESS:
        raise refusal(attempted, code)


def _partition(found: Partition) -> FabricPartition:
    members = found.gpuInfo[: found.numGpus]
    # The rate of a link is that of one direction: HGX B200 lists 18 links of 50000 for its 900 GB/s.
    slowest = min((one.numNvLinksAvailable * one.nvlinkLineRateMBps for one in members), default=0)
    return FabricPartition(
        id=int(found.partitionId),
        gpus=tuple(map(_gpu, members)),
        is_active=bool(found.isActive),
        bandwidth=slowest * 10**6 or None,
    )


def _gpu(found: PartitionGpu) -> FabricGpu:
    uuid = found.uuid.decode(errors="replace")
    return FabricGpu(int(found.physicalId), GpuUuid(uuid) if uuid else None, _bdf(found.pciBusId.decode()))


def _bdf(text: str) -> Bdf | None:
    """Return an address, None for a text that is empty, zero or none."""
    try:
        bdf = normal_bdf(text)
    except ValueError:
        return None
    return None if bdf == _NOWHERE else bdf
