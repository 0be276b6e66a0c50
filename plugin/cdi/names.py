"""PURE: how CDI documents and their devices are named.

The CDI id of a device is ``DRIVER/claim=UID-DEVICE``. It holds the claim's UID because container runtimes
cache documents: a device that is prepared for the next claim must not have the name of the last one. Of a
device of which a claim has several shares, the second and later ones have their number behind a dot, which no
published name has: ``gpu-0-shared``, ``gpu-0-shared.2``.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.model.claim import ClaimUid

_CLASS: Final = "claim"


def kind(driver: str) -> str:
    """Return the kind of a driver's documents: vendor and class."""
    return f"{driver}/{_CLASS}"


def device_name(uid: ClaimUid, device: str, share: int = 1) -> str:
    """Return the name of a device within its claim's document. Shape: ``share`` counts the claim's from 1."""
    return f"{uid}-{device}" if share == 1 else f"{uid}-{device}.{share}"


def device_id(driver: str, uid: ClaimUid, device: str, share: int = 1) -> str:
    """Return the full CDI id of a claim's device, as the kubelet hands it to the container runtime."""
    return f"{kind(driver)}={device_name(uid, device, share)}"


def device_of(uid: ClaimUid, name: str) -> str:
    """Return the published name of a device from its name within its claim's document."""
    return name.removeprefix(f"{uid}-").partition(".")[0]
