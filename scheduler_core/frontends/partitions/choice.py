"""Which partition a pod gets: the highest score first, then the one that leaves the most partitions free.

Source: Koordinator's proposal "GPU Partitioning APIs"; the weights are those of its scheduler plug-in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from scheduler_core.frontends.partitions.table import Partition, PartitionSpec, PartitionTable

_WEIGHTS: Final = {16: 1_000_000, 8: 10_000, 4: 100, 2: 1}


def score_groups(table: PartitionTable, size: int) -> Sequence[tuple[Partition, ...]]:
    """Return the partitions of one size by score, the highest first; in listed order within a score."""
    listed = table.by_size.get(size, ())
    scores = sorted({one.score for one in listed}, reverse=True)
    return [tuple(one for one in listed if one.score == score) for score in scores]


def candidates(
    table: PartitionTable, size: int, spec: PartitionSpec, usable: Collection[int], free: Collection[int]
) -> Iterator[Sequence[tuple[int, Partition]]]:
    """Yield the partitions that a pod can get, by score group, each with the value of what it leaves.

    Shape: ``usable`` are the GPUs that the pod may get, ``free`` are all free GPUs; a larger value is better.
           A restricted pod gets partitions of the highest score in the table only, even if none is free.
    """
    groups = score_groups(table, size)
    for group in groups[:1] if spec.is_restricted else groups:
        fitting = [one for one in group if set(one.minors) <= set(usable) and is_fast(one, spec)]
        yield [(value_left(table, size, set(free) - set(one.minors)), one) for one in fitting]


def value_left(table: PartitionTable, size: int, free: Collection[int]) -> int:
    """Return the value of the partitions, of ``size`` and above, whose GPUs are all in ``free``."""
    return sum(
        weight * one.score
        for larger, weight in _WEIGHTS.items()
        if larger >= size
        for one in next(iter(score_groups(table, larger)), ())
        if set(one.minors) <= set(free)
    )


def is_fast(partition: Partition, spec: PartitionSpec) -> bool:
    """Whether the links are as fast as a pod demands.

    No ring runs through one GPU, so a single GPU without a figure has no slow link and serves; Koordinator
    refuses it, and with it the pod that the proposal prints. Several GPUs without a figure never serve: their
    links may be slower. A figure that is stated counts, for one GPU too.
    """
    if spec.bandwidth is None:
        return True
    if partition.bandwidth is None:
        return len(partition.minors) == 1
    return partition.bandwidth >= spec.bandwidth


def why_too_slow(table: PartitionTable, size: int, spec: PartitionSpec) -> str | None:
    """Return why no partition of one size serves even on an empty node, None if one does.

    Shape: the table has partitions of this size.
    """
    groups = score_groups(table, size)
    allowed = groups[0] if spec.is_restricted else [one for group in groups for one in group]
    if spec.bandwidth is None or any(is_fast(one, spec) for one in allowed):
        return None
    which = f"the {len(allowed)} partitions of {size}" if len(allowed) > 1 else f"the partition of {size}"
    if spec.is_restricted and len(groups) > 1:
        which += f" with the highest score, {groups[0][0].score}, which Restricted demands,"
    stated = [one.bandwidth for one in allowed if one.bandwidth is not None]
    has = f"has a ringBusBandwidth above {max(stated)}" if stated else "states a ringBusBandwidth"
    return f"none of {which} {has}; {spec.bandwidth} is demanded"
