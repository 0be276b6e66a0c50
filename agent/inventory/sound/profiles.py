"""PURE: the MIG profiles of a GPU that can be described, and sentences about the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agent.hardware.types import MigProfile, Placement
from agent.inventory.model import GpuEntry
from agent.inventory.names import gpu_name

MOST_MEMORY_SLICES: Final = 32
"""One counter each; a counter set has no more. Source: ``resource.k8s.io/v1``."""


def with_sound_profiles(entry: GpuEntry) -> tuple[GpuEntry, tuple[str, ...]]:
    """Return a GPU without the profiles whose figures cannot be, and a sentence about each of these."""
    kept, told = [], []
    for profile in entry.profiles:
        if why := _why_not(profile):
            told.append(f"{gpu_name(entry.gpu.number)} goes without profile {profile.name[:40]!r}: {why}")
        else:
            kept.append(profile)
    return (replace(entry, profiles=tuple(kept)), tuple(told)) if told else (entry, ())


def _why_not(profile: MigProfile) -> str | None:
    if not profile.placements:
        return "the driver tells no placement of it"
    odd = next((place for place in profile.placements if not _is_on_gpu(place)), None)
    if odd is not None:
        return f"the driver places it at memory slice {odd.start} with {odd.size}"
    return None


def _is_on_gpu(place: Placement) -> bool:
    return place.start >= 0 and place.size >= 1 and place.start + place.size <= MOST_MEMORY_SLICES
