"""PURE: where the partitions of a MIG layout lie on a GPU, or why the GPU cannot have it.

Partitions with a place come first. The others get theirs in the order of their size, large ones first, and
then in the order of the layout: each the lowest place that leaves room for all after it. So a layout is
refused only if there is no way to place it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from agent.hardware.types import MigProfile, Placement
from agent.inventory.gpus import divisible
from agent.inventory.modes import MigPlace
from agent.inventory.names import memory_slice_range
from agent.policy.model import LayoutPart

_LIMITED: Final = (
    "compute_slices",
    "multiprocessors",
    "copy_engines",
    "decoders",
    "encoders",
    "jpeg_engines",
    "ofa_engines",
)
"""What all partitions of a GPU together have at most as much of as its largest profile."""


class Impossible(Exception):
    """A layout that a GPU cannot have.

    Shape: ``field`` is the path of what is wrong in the layout, ``[1].start``, empty for all of it; ``rule``
           is a clause about the GPU.
    """

    def __init__(self, field: str, value: object, rule: str) -> None:
        self.field = field
        self.value = value
        self.rule = rule
        super().__init__(rule)


def placed(layout: Sequence[LayoutPart], profiles: Sequence[MigProfile]) -> tuple[MigPlace, ...]:
    """Return the partitions of a layout, by place. Raises: Impossible."""
    if not profiles:
        raise Impossible("", None, "cannot be cut by MIG")
    known = {one.name: one for one in profiles}
    for index, part in enumerate(layout):
        if part.profile not in known or not known[part.profile].placements:
            raise Impossible(f"[{index}].profile", part.profile, f"lacks it; it has {', '.join(known)}")
    given = tuple(_given(layout, known))
    wanted = [known[part.profile] for part in layout for _ in range(part.count)]
    if excess := _excess(wanted, profiles):
        raise Impossible("", None, f"cannot have this layout: {excess}")
    free = [known[part.profile] for part in layout if part.start is None for _ in range(part.count)]
    found = _arranged(given, sorted(free, key=_size, reverse=True), None)
    if found is None:
        raise Impossible(
            "", None, "cannot have this layout: there is no place for all of its partitions at once"
        )
    return tuple(sorted(found, key=lambda one: one.placement))


def _given(layout: Sequence[LayoutPart], known: Mapping[str, MigProfile]) -> Iterator[MigPlace]:
    """Yield the partitions whose place the layout says."""
    found: list[tuple[int, MigPlace]] = []
    for index, part in enumerate(layout):
        if part.start is None:
            continue
        places = {one.start: one for one in known[part.profile].placements}
        if part.start not in places:
            starts = ", ".join(map(str, places))
            rule = f"has no place for {part.profile} there; it may begin at memory slice {starts}"
            raise Impossible(f"[{index}].start", part.start, rule)
        place = MigPlace(part.profile, places[part.start])
        for other, before in found:
            if place.placement.overlaps(before.placement):
                at = f"{before.profile} at {memory_slice_range(before.placement)}"
                rule = f"cannot have {part.profile} there: it overlaps migLayout[{other}], {at}"
                raise Impossible(f"[{index}].start", part.start, rule)
        found.append((index, place))
        yield place


def _excess(wanted: Sequence[MigProfile], profiles: Sequence[MigProfile]) -> str:
    """Return of what the GPU has too little for all partitions together, wherever they lie."""
    slices = max(place.start + place.size for one in profiles for place in one.placements)
    needed = sum(map(_size, wanted))
    if needed > slices:
        return f"it needs {needed} memory slices, the GPU has {slices}"
    for name, count in Counter(one.name for one in wanted).items():
        most = next(one.max_instances for one in wanted if one.name == name)
        if count > most:
            return f"it needs {count} of {name}, at most {most} can exist"
    limits = divisible(profiles, _LIMITED)
    for key in _LIMITED:
        total, limit = sum(getattr(one, key) for one in wanted), limits[key]
        if total > limit:
            return f"it needs {total} {key.replace('_', ' ')}, the GPU has {limit}"
    return ""


def _arranged(
    taken: tuple[MigPlace, ...], left: Sequence[MigProfile], last: MigPlace | None
) -> tuple[MigPlace, ...] | None:
    """Return all partitions with their places, None where there is no way; equal ones lie in order."""
    if not left:
        return taken
    profile = left[0]
    after = last.placement.start if last is not None and last.profile == profile.name else -1
    for placement in profile.placements:
        if placement.start > after and _is_free(placement, taken):
            place = MigPlace(profile.name, placement)
            found = _arranged((*taken, place), left[1:], place)
            if found is not None:
                return found
    return None


def _is_free(placement: Placement, taken: Sequence[MigPlace]) -> bool:
    return not any(placement.overlaps(one.placement) for one in taken)


def _size(profile: MigProfile) -> int:
    return profile.placements[0].size
