"""Which devices hang together: components, by what devices are cut from or draw from."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.model.device import Device, DeviceName, SourceName


def connected(devices: Sequence[Device]) -> list[list[int]]:
    """Return the devices of each component, as indexes in listed order."""
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
            if other < mine and root[other] == other and root[mine] == mine:  # nearly always
                root[mine] = mine = other
            elif other != mine:
                mine = _join(root, mine, other)
    return _members(root)


def _join(root: list[int], one: int, two: int) -> int:
    """Join the components of two devices, and return the lowest device of what comes out."""
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
        # Roots are the lowest of their group and joined downwards: one step up is settled already.
        top = root[index] = root[above]
        if top == index:
            members[index] = [index]
        else:
            members[top].append(index)
    return list(members.values())
