"""PURE: what has nothing in common can be done side by side, the rest one after the other."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence


def groups_of(keys: Sequence[Collection[Hashable]]) -> tuple[tuple[int, ...], ...]:
    """Return the places of what belongs together: what shares a key, itself or through others.

    Shape: each place is in one group, in the order of ``keys``. What has no key is alone.
    """
    first: dict[Hashable, int] = {}
    leader = list(range(len(keys)))

    def led(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for place, own in enumerate(keys):
        for key in own:
            one, other = led(first.setdefault(key, place)), led(place)
            leader[max(one, other)] = min(one, other)
    groups: dict[int, list[int]] = {}
    for place in range(len(keys)):
        groups.setdefault(led(place), []).append(place)
    return tuple(tuple(group) for group in groups.values())
