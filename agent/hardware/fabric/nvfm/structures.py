"""The structures of ``libnvfm``. Each holds its own size and version in its first field.

Source: NVIDIA Fabric Manager User Guide, "Data Structures"; ``nv_fm_types.h`` of the package
nvidia-fabricmanager-devel for the lengths of texts and the second version of the connection's parameters.
"""

from __future__ import annotations

from ctypes import Structure, c_char, c_int, c_uint, sizeof
from typing import Final

MOST_PARTITIONS: Final = 64
MOST_GPUS: Final = 16
TEXT_BYTES: Final = 256
_UUID_BYTES: Final = 80
_ADDRESS_BYTES: Final = 32
INET: Final = 1
UNIX: Final = 2
"""The types of an address."""


class ConnectParametersV1(Structure):
    """How to reach the fabric manager. Units: ``timeoutMs`` milliseconds."""

    _fields_ = (
        ("version", c_uint),
        ("addressInfo", c_char * TEXT_BYTES),
        ("timeoutMs", c_uint),
        ("addressIsUnixSocket", c_uint),
    )


class ConnectParametersV2(Structure):
    """The same, with the type of the address."""

    _fields_ = (*ConnectParametersV1._fields_, ("addressType", c_int))


class PartitionGpu(Structure):
    """A GPU of a partition. Shape: from HGX H100 on, ``uuid`` and ``pciBusId`` are empty or zero."""

    _fields_ = (
        ("physicalId", c_uint),
        ("uuid", c_char * _UUID_BYTES),
        ("pciBusId", c_char * _ADDRESS_BYTES),
        ("numNvLinksAvailable", c_uint),
        ("maxNumNvLinks", c_uint),
        ("nvlinkLineRateMBps", c_uint),
    )


class Partition(Structure):
    """A partition."""

    _fields_ = (
        ("partitionId", c_uint),
        ("isActive", c_uint),
        ("numGpus", c_uint),
        ("gpuInfo", PartitionGpu * MOST_GPUS),
    )


class PartitionList(Structure):
    """All partitions that are supported."""

    _fields_ = (
        ("version", c_uint),
        ("numPartitions", c_uint),
        ("maxNumPartitions", c_uint),
        ("partitionInfo", Partition * MOST_PARTITIONS),
    )


def version_of(structure: type[Structure], version: int) -> int:
    """Return what the first field of a structure must hold."""
    return sizeof(structure) | version << 24
