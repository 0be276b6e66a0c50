"""A pool without compatibility groups, for a server that drops them: the modes of a GPU take turns. Pure.

Without groups counting alone keeps modes apart. Of the groups of a counter set the largest one keeps its
draws, such as the MIG partitions of a GPU; every device outside it draws the whole set. So a set is used by
devices of one group, or by one device alone: always a part of what the groups allow.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from scheduler_core.model.device import Device, Draw, SourceName
from scheduler_core.model.pool import Pool


def by_turns(pool: Pool) -> Pool:
    """Return a pool in v1's names without groups. One that has none is returned as it is."""
    sizes: dict[SourceName, Counter[str]] = {}
    for device in pool.devices:
        for draw in device.draws:
            if draw.groups:
                sizes.setdefault(draw.source, Counter()).update(sorted(draw.groups))
    if not sizes:
        return pool
    kept = {source: counts.most_common(1)[0][0] for source, counts in sizes.items()}
    return replace(pool, devices=tuple(_alone(device, kept, pool) for device in pool.devices))


def _alone(device: Device, kept: dict[SourceName, str], pool: Pool) -> Device:
    draws = tuple(
        draw if not draw.groups else _drawn(draw, pool, is_kept=kept[draw.source] in draw.groups)
        for draw in device.draws
    )
    return replace(device, draws=draws)


def _drawn(draw: Draw, pool: Pool, *, is_kept: bool) -> Draw:
    whole = {name: amount for name, amount in pool.sources[draw.source].items() if amount.nano > 0}
    return replace(draw, amounts=draw.amounts if is_kept else whole, groups=None)
