"""Which devices hang together: components, by what devices are cut from or draw from."""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.model.device import Device, SourceName


def connected(devices: Sequence[Device]) -> list[list[int]]:
    """Return the devices of each component, as indexes in listed order."""
    root = list(range(len(devices)))

    def join(one: int, two: int) -> int:
        while root[one] != one:
            root[one] = one = root[root[one]]
        while root[two] != two:
            root[two] = two = root[root[two]]
        if one > two:
            one, two = two, one
        root[two] = one
        return one

    index_of = {device.name: index for index, device in enumerate(devices)}
    first_user: dict[SourceName, int] = {}
    for index, device in enumerate(devices):
        mine = index
        for parent in device.parents:
            mine = join(mine, index_of[parent])
        for draw in device.draws:
            mine = join(mine, first_user.setdefault(draw.source, index))
    members: dict[int, list[int]] = {}
    for index, above in enumerate(root):
        # Roots are the lowest of their group and joined downwards: one step up is settled already.
        root[index] = root[above]
        members.setdefault(root[index], []).append(index)
    return list(members.values())
