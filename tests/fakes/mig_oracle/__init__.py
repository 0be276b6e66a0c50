"""What a GPU can have at once, counted anew from a model's data file: nothing of the product decides here.

A part is a whole GPU, a MIG partition, or a compute instance in one. A set of parts can exist if its GPU
instances lie apart, no profile is there too often, the board has their engines, and no compute slice of a GPU
instance is wanted twice. A MIG partition wants all compute slices of its GPU instance.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agent.hardware.simulated.gpu_models import FOLDER
from agent.inventory.published import MigComputeInstance, MigPartition, PublishedDevice, WholeGpu

_ENGINES = {
    "copy": "copy_engines",
    "decoder": "decoders",
    "encoder": "encoders",
    "jpeg": "jpeg",
    "ofa": "ofa",
}

GpuInstance = tuple[str, int, int]


@dataclass(frozen=True)
class Board:
    """A GPU model. Shape: ``rows`` its GPU-instance profiles as the file has them, by name."""

    engines: dict[str, int | None]
    memory_slices: int
    rows: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, model: str) -> Board:
        file = json.loads((FOLDER / f"{model}.json").read_text())
        rows = {row["name"]: row for row in file["gpu_instance_profiles"]}
        return cls(file["engines"], file["memory_slices"], rows)

    def can_have(self, parts: Iterable[PublishedDevice]) -> bool:
        """Whether one GPU can have all these parts at once."""
        found = list(parts)
        if any(isinstance(part, WholeGpu) for part in found):
            return len(found) == 1
        wanted: dict[GpuInstance, list[int]] = {}
        for part in found:
            instance, slices = self._wanted(part)
            wanted.setdefault(instance, []).extend(slices)
        apart = all(max(Counter(slices).values()) == 1 for slices in wanted.values())
        return apart and self._has_room(list(wanted))

    def _wanted(self, part: PublishedDevice) -> tuple[GpuInstance, Iterable[int]]:
        match part:
            case MigPartition(profile=profile, placement=placement):
                slices: Iterable[int] = range(self.rows[profile.name]["slice_count"])
            case MigComputeInstance(profile=profile, placement=placement, place=place):
                slices = range(place.start, place.start + place.size)
            case _:
                raise AssertionError(f"{part} is no part of a GPU")
        return (profile.name, placement.start, placement.size), slices

    def _has_room(self, instances: list[GpuInstance]) -> bool:
        held = Counter(index for _, start, size in instances for index in range(start, start + size))
        names = Counter(name for name, _, _ in instances)
        return (
            all(count == 1 and index < self.memory_slices for index, count in held.items())
            and all(count <= self.rows[name]["max_instances"] for name, count in names.items())
            and all(
                limit is None or sum(self.rows[name][field] * count for name, count in names.items()) <= limit
                for engine, field in _ENGINES.items()
                for limit in [self.engines[engine]]
            )
        )
