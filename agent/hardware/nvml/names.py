"""Names for NVML's numbers: brands, architectures, profiles. Pure."""

from __future__ import annotations

from typing import Final

import pynvml

_GIB: Final = 2**30

_BRANDS: Final[dict[int, str]] = {
    pynvml.NVML_BRAND_QUADRO: "Quadro",
    pynvml.NVML_BRAND_TESLA: "Tesla",
    pynvml.NVML_BRAND_NVS: "NVS",
    pynvml.NVML_BRAND_GRID: "Grid",
    pynvml.NVML_BRAND_GEFORCE: "GeForce",
    pynvml.NVML_BRAND_TITAN: "Titan",
    pynvml.NVML_BRAND_NVIDIA_VAPPS: "NvidiaVApps",
    pynvml.NVML_BRAND_NVIDIA_VPC: "NvidiaVPC",
    pynvml.NVML_BRAND_NVIDIA_VCS: "NvidiaVCS",
    pynvml.NVML_BRAND_NVIDIA_VWS: "NvidiaVWS",
    pynvml.NVML_BRAND_NVIDIA_CLOUD_GAMING: "NvidiaCloudGaming",
    pynvml.NVML_BRAND_QUADRO_RTX: "QuadroRTX",
    pynvml.NVML_BRAND_NVIDIA_RTX: "NvidiaRTX",
    pynvml.NVML_BRAND_NVIDIA: "Nvidia",
    pynvml.NVML_BRAND_GEFORCE_RTX: "GeForceRTX",
    pynvml.NVML_BRAND_TITAN_RTX: "TitanRTX",
}

_ARCHITECTURES: Final[dict[int, str]] = {
    pynvml.NVML_DEVICE_ARCH_KEPLER: "Kepler",
    pynvml.NVML_DEVICE_ARCH_MAXWELL: "Maxwell",
    pynvml.NVML_DEVICE_ARCH_PASCAL: "Pascal",
    pynvml.NVML_DEVICE_ARCH_VOLTA: "Volta",
    pynvml.NVML_DEVICE_ARCH_TURING: "Turing",
    pynvml.NVML_DEVICE_ARCH_AMPERE: "Ampere",
    pynvml.NVML_DEVICE_ARCH_ADA: "Ada Lovelace",
    pynvml.NVML_DEVICE_ARCH_HOPPER: "Hopper",
    pynvml.NVML_DEVICE_ARCH_BLACKWELL: "Blackwell",
    pynvml.NVML_DEVICE_ARCH_RUBIN: "Rubin",
}

_MARKS: Final[dict[int, str]] = {
    pynvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1: "+me",
    pynvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1: "+me",
    pynvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX: "+gfx",
    pynvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX: "+gfx",
    pynvml.NVML_GPU_INSTANCE_PROFILE_3_SLICE_GFX: "+gfx",
    pynvml.NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX: "+gfx",
    pynvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME: "-me",
    pynvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME: "-me",
    pynvml.NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME: "+me.all",
    pynvml.NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME: "+me.all",
}


_CORES: Final[dict[tuple[int, int], int]] = {
    **dict.fromkeys([(7, 0), (7, 2), (7, 5), (8, 0)], 64),
    **dict.fromkeys([(8, 6), (8, 7), (8, 9), (9, 0)], 128),
    **dict.fromkeys([(10, 0), (10, 1), (10, 3), (11, 0), (12, 0), (12, 1)], 128),
}


def cores_of_multiprocessor(major: int, minor: int) -> int | None:
    """Return how many CUDA cores a multiprocessor of a compute capability has, None for a newer one.

    Source: NVIDIA cuda-samples, Common/helper_cuda.h, _ConvertSMVer2Cores.
    """
    return _CORES.get((major, minor))


def brand_name(number: int) -> str | None:
    """Return a brand's name as other drivers' attributes spell it, None if it has no name.

    Source: nvml.h, nvmlBrandType_t; spelling of the go-nvlib library.
    """
    return _BRANDS.get(number)


def architecture_name(number: int) -> str:
    """Return the name of an architecture, ``Unknown`` for one newer than this table.

    Source: nvml.h, NVML_DEVICE_ARCH_*; spelling of the go-nvlib library.
    """
    return _ARCHITECTURES.get(number, "Unknown")


def profile_name(constant: int, reported: str, slices: int, memory_bytes: int, total_bytes: int) -> str:
    """Return the name of a GPU-instance profile: the driver's own, else derived.

    Drivers with the second form of the query report ``MIG 1g.5gb``. The derived name counts the profile's
    memory in whole eighths of the GPU's, because the exact amount differs from driver to driver.
    Units: bytes.
    """
    name = reported.removeprefix("MIG ").strip()
    if name:
        return name
    eighths = -(-8 * memory_bytes // total_bytes)
    gigabytes = (2 * eighths * -(-total_bytes // _GIB) + 8) // 16  # halves are rounded up
    return f"{slices}g.{gigabytes}gb{_MARKS.get(constant, '')}"
