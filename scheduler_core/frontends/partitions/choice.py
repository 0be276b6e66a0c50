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
        fitting = [one for one in group if set(one.minors) <= set(usable) and _is_fast(one, spec)]
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


def _is_fast(partition: Partition, spec: PartitionSpec) -> bool:
    """Whether the links are fast enough. Links of unknown speed are not."""
    if spec.bandwidth is None:
        return True
    return partition.bandwidth is not None and partition.bandwidth >= spec.bandwidth
