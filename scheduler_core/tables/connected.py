"""Connected devices: splits the devices of a pool into components, by their parents and their sources."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.model.device import Device, DeviceName, SourceName


def connected(devices: Sequence[Device]) -> list[list[int]]:
    """Return the indexes of the devices of each component, ascending; components by their first device."""
    root = list(range(len(devices)))
    index_of: dict[DeviceName, int] = {}
    first_user: dict[SourceName, int] = {}
    for index, device in enumerate(devices):
        mine = index
        if device.parents:
            index_of = index_of or {device.name: index for index, device in enumerate(devices)}
            for parent in device.parents:
                mine = _join(root, mine, index_of[parent])
        for draw in device.draws:
            other = first_user.setdefault(draw.source, mine)
            if other < mine and root[other] == other and root[mine] == mine:  # the usual case: both are roots
                root[mine] = mine = other
            elif other != mine:
                mine = _join(root, mine, other)
    return _members(root)


def _join(root: list[int], one: int, two: int) -> int:
    """Join the components of two devices, and return the lowest device of the joined component."""
    while root[one] != one:
        root[one] = one = root[root[one]]
    while root[two] != two:
        root[two] = two = root[root[two]]
    if one > two:
        one, two = two, one
    root[two] = one
    return one


def _members(root: list[int]) -> list[list[int]]:
    members: dict[int, list[int]] = {}
    for index, above in enumerate(root):
        # A root is the lowest device of its component, so the root of what is above is known already.
        top = root[index] = root[above]
        if top == index:
            members[index] = [index]
        else:
            members[top].append(index)
    return list(members.values())
