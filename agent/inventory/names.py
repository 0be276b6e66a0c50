"""Names of devices and mixins: DNS labels made from properties that do not change while a device exists.

A name is a key: it is not taken apart, but for the numbers of GPUs. A GPU is named by the number of its
PCI address, a NIC by its address, a VF by its index (its address depends on the number of VFs).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.hardware.types import Bdf, Placement
from scheduler_core.model.device import DeviceName


def gpu_name(number: int) -> DeviceName:
    """Return the name of a whole GPU."""
    return DeviceName(f"gpu-{number}")


def partitions_name(number: int) -> DeviceName:
    """Return what stands for all MIG partitions of a GPU if none of them is known: ``gpu-0-mig``."""
    return DeviceName(f"gpu-{number}-mig")


def shared_name(number: int) -> DeviceName:
    """Return the name of a GPU that claims share: ``gpu-0-shared``."""
    return DeviceName(f"gpu-{number}-shared")


def mps_name(number: int) -> DeviceName:
    """Return the name of a GPU that claims share under MPS: ``gpu-0-mps``."""
    return DeviceName(f"gpu-{number}-mps")


def partition_name(number: int, profile: str, placement: Placement) -> DeviceName:
    """Return the name of a MIG partition: ``gpu-0-mig-2g-10gb-2-3``."""
    return DeviceName(f"gpu-{number}-mig-{profile_label(profile)}-{memory_slice_range(placement)}")


def compute_instance_name(number: int, profile: str, placement: Placement, place: Placement) -> DeviceName:
    """Return the name of a compute instance in a GPU instance: ``gpu-0-mig-1c-3g-20gb-0-3-ci-2``."""
    inner = f"{place.size}c-{profile_label(profile)}-{memory_slice_range(placement)}"
    return DeviceName(f"gpu-{number}-mig-{inner}-ci-{memory_slice_range(place)}")


def linked_name(numbers: Sequence[int]) -> DeviceName:
    """Return the name of an NVLink partition: ``gpus-0-1-2-3``."""
    return DeviceName("gpus-" + "-".join(map(str, numbers)))


def imex_name(number: int) -> DeviceName:
    """Return the name of an IMEX channel: ``imex-channel-0``."""
    return DeviceName(f"imex-channel-{number}")


def nic_name(bdf: Bdf) -> DeviceName:
    """Return the name of a NIC's physical function: ``nic-0000-3b-00-0``."""
    return DeviceName("nic-" + bdf.replace(":", "-").replace(".", "-"))


def vf_name(pf: Bdf, index: int) -> DeviceName:
    """Return the name of a VF: ``nic-0000-3b-00-0-vf-3``."""
    return DeviceName(f"{nic_name(pf)}-vf-{index}")


def profile_label(profile: str) -> str:
    """Return a profile's name as part of a label; ``+me`` (has it) and ``-me`` (lacks it) stay apart."""
    return profile.replace("-", "-no-").replace("+", "-").replace(".", "-").lower()


def memory_slice_range(placement: Placement) -> str:
    """Return the memory slices of a placement as the KEP's listing writes them: ``2``, ``2-3``."""
    last = placement.start + placement.size - 1
    return str(placement.start) if last == placement.start else f"{placement.start}-{last}"


def product_label(product_name: str) -> str:
    """Return a product's name as part of a label, without the vendor: ``a100-sxm4-40gb``."""
    words = re.sub(r"[^a-z0-9]+", "-", product_name.lower()).strip("-")
    return words.removeprefix("nvidia-")[:30].strip("-") or "unknown"
