"""In which slice each entry of a pool lies, so that a change of one device touches one slice. Pure.

Readers use a pool only while it has all its slices, and a change of several slices is not usable before the
last one is written. So an entry stays in the slice where it was, a slice that runs empty stays, and what is
new goes where there is room beside its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

_Key = TypeVar("_Key", bound=str)

Places = Mapping[_Key, int]
"""The slice of each entry, by its index. Entries that are gone keep their place for when they are back."""


def places_after(
    groups: Iterable[Sequence[_Key]], before: Places[_Key], slices: int, most: int
) -> dict[_Key, int] | None:
    """Return the slice of each entry of the groups, None where they do not fit in so many slices.

    Shape: what is new of a group goes to one slice: that of the group, else that of the group before, else
           the first one with room. A slice has at most ``most`` entries.
    """
    listed = [tuple(group) for group in groups]
    found = {key: before[key] for group in listed for key in group if key in before}
    room = [most] * slices
    for index in found.values():
        if index >= slices or room[index] == 0:
            return None
        room[index] -= 1
    last = 0
    for group in listed:
        new = [key for key in group if key not in found]
        last = next((found[key] for key in reversed(group) if key in found), last)
        if new:
            wanted = (last, *range(slices))
            last = next((index for index in wanted if room[index] >= len(new)), slices)
            if last == slices:
                return None
            room[last] -= len(new)
            found |= dict.fromkeys(new, last)
    return found


def is_worth_keeping(slices: int, fewest: int) -> bool:
    """Whether so many slices may stay where fewer would do: rewriting all is for large gains only."""
    return slices <= 2 * fewest
