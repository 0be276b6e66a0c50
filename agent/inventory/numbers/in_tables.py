"""PURE: a table of partitions whose GPUs have their numbers, whatever it names them by.

A minor of a table is a number of this node: both are counted in the order of the addresses, and the driver's
own minors move when a GPU is dead. An address or a module means its GPU, and is found on the machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from agent.inventory.numbers.numbering import NumberedGpu, Numbers
from scheduler_core.frontends.partitions.table import Partition, PartitionTable, with_scores


def with_numbers(
    table: PartitionTable, gpus: Iterable[NumberedGpu], missing: Numbers
) -> tuple[PartitionTable, list[str]]:
    """Return the table with the numbers of the GPUs, and a sentence for each partition without them.

    Shape: ``missing`` the numbers of GPUs that the driver does not list, by address.
    """
    if all(one.minors for partitions in table.by_size.values() for one in partitions):
        return table, []
    known = tuple(gpus)
    counts = Counter(gpu.module_id for gpu in known)
    numbers: dict[str, int] = {
        **{_at(bdf): number for bdf, number in missing.items()},
        **{_at(gpu.bdf): gpu.number for gpu in known},
        **{_in(gpu.module_id): gpu.number for gpu in known if counts[gpu.module_id] == 1},
    }
    problems: list[str] = []
    by_size = {
        size: tuple(_found(partitions, numbers, problems)) for size, partitions in table.by_size.items()
    }
    found = replace(table, by_size=by_size, is_unscored=False)
    return with_scores(found) if table.is_unscored and any(by_size.values()) else found, problems


def _found(
    partitions: Iterable[Partition], numbers: Mapping[str, int], problems: list[str]
) -> Iterator[Partition]:
    seen: set[tuple[int, ...]] = set()
    for one in partitions:
        names = [*map(_at, one.addresses), *map(_in, one.modules)]
        unknown = [name for name in names if name not in numbers]
        if unknown:
            problems.append(f"the table names a GPU that this node does not know: {', '.join(unknown)}")
            continue
        found = one.minors or tuple(sorted(numbers[name] for name in names))
        if found in seen:
            problems.append(
                f"the table lists GPUs {', '.join(map(str, found))} twice: the first entry counts"
            )
            continue
        seen.add(found)
        yield replace(one, minors=found)


def _at(address: str) -> str:
    return f"address {address}"


def _in(module: int | None) -> str:
    return f"module {module}"
