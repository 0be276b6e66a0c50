"""Tables of partitions: which GPUs of a node may be allocated together, as in the node's annotation.

Takes annotation text. Returns a ``PartitionTable`` with warnings, or an error that names the entry: a bad
table never counts as "no table". Source: Koordinator's proposal "GPU Partitioning APIs", whose Go structure
is the reference; docs/decisions/0024-partition-tables.md lists the other spellings that are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from typing import Final

from scheduler_core.base.errors import InvalidInput
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.annotations.errors import InvalidNode, InvalidPod
from scheduler_core.frontends.annotations.reading import annotation, choice
from scheduler_core.frontends.partitions.members import ADDRESSES, MINORS, MODULES, Members, read_members

TABLE: Final = "gpu-partitions"
SPEC: Final = "gpu-partition-spec"
POLICY_LABEL: Final = "node.koordinator.sh/gpu-partition-policy"
HONOR: Final = "Honor"
PREFER: Final = "Prefer"
RESTRICTED: Final = "Restricted"
_LINKS: Final = ("NVLink",)
_OLD_BANDWIDTH: Final = "ringAllReduceBandwidth"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """GPUs joined by links.

    Shape: ``minors`` ascending; none where the table names the GPUs by ``addresses`` or ``modules``, and the
           node's numbers of them are not known yet. Units: ``bandwidth`` as in the table.
    """

    minors: tuple[int, ...] = ()
    addresses: tuple[str, ...] = ()
    modules: tuple[int, ...] = ()
    link: str | None = None
    bandwidth: Quantity | None = None
    score: int = 0


@dataclass(frozen=True, slots=True)
class PartitionTable:
    """The partitions of a node.

    Shape: by number of GPUs, in listed order; ``is_computed`` where the scores are computed, because the
           table has none; ``is_unscored`` where that waits for the numbers of the GPUs; ``warnings`` name
           spellings that were read although the structure differs.
    """

    by_size: Mapping[int, tuple[Partition, ...]]
    is_computed: bool = False
    warnings: tuple[str, ...] = field(default=())
    is_unscored: bool = False


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    """What a pod demands of a partition. Shape: ``bandwidth`` is the least allowed, None for any."""

    is_restricted: bool = False
    bandwidth: Quantity | None = None


def table_of(
    subject: str,
    value: object,
    minors: Collection[int] | None = None,
    error: type[InvalidInput] = InvalidNode,
    *,
    any_name: bool = False,
) -> PartitionTable:
    """Return the table of an annotation.

    Shape: ``minors`` are the node's GPUs, None where unknown; with ``any_name`` entries may name GPUs by
           address or module.
    Raises: ``error`` for anything ambiguous, with its path.
    """
    fields = annotation(subject, TABLE, value, error)
    warnings: list[str] = []
    by_size: dict[int, tuple[Partition, ...]] = {}
    for key in fields.values:
        size = _size(fields, key)
        if size in by_size:
            raise fields.refuse(str(key), "is listed twice: a size has one list")
        by_size[size] = tuple(
            _partitions(
                fields, str(key), partial(read_members, size=size, known=minors, any_name=any_name), warnings
            )
        )
    scored = any(one.get("allocationScore") is not None for one in _entries(fields))
    table = PartitionTable(by_size, warnings=tuple(dict.fromkeys(warnings)))
    if scored or not any(by_size.values()):
        return table
    is_known = all(one.minors for partitions in by_size.values() for one in partitions)
    return with_scores(table) if is_known else replace(table, is_unscored=True)


def spec_of(subject: str, value: object, error: type[InvalidInput] = InvalidPod) -> PartitionSpec:
    """Return the demand in a pod's annotation. Raises: ``error``."""
    fields = annotation(subject, SPEC, value, error)
    fields.only("allocatePolicy", "ringBusBandwidth")
    policy = choice(fields, "allocatePolicy", (RESTRICTED, "BestEffort"))
    return PartitionSpec(policy == RESTRICTED, _bandwidth(fields, "ringBusBandwidth"))


def with_scores(table: PartitionTable) -> PartitionTable:
    """Return the table with computed scores.

    Among partitions of one size the better one leaves a larger partition of an empty node, then one with
    more bandwidth.
    """
    everything = [one for partitions in table.by_size.values() for one in partitions]

    def left_by(partition: Partition) -> tuple[int, int]:
        rest = [one for one in everything if not set(one.minors) & set(partition.minors)]
        widths = [one.bandwidth.nano for one in rest if one.bandwidth is not None]
        return max((len(one.minors) for one in rest), default=0), max(widths, default=0)

    scored = {}
    for size, partitions in table.by_size.items():
        ranks = sorted({left_by(one) for one in partitions})
        scored[size] = tuple(replace(one, score=1 + ranks.index(left_by(one))) for one in partitions)
    note = (
        "no partition has an allocationScore: scores are computed from what each partition leaves of the node"
    )
    return PartitionTable(scored, is_computed=True, warnings=(*table.warnings, note))


def _entries(fields: Fields) -> Iterator[Mapping[str, object]]:
    for key in fields.values:
        yield from fields.items(str(key))


def _size(fields: Fields, key: object) -> int:
    text = str(key)
    if not (text.isascii() and text.isdigit()) or int(text) < 1 or text != str(int(text)):
        raise fields.refuse(text, "must be a number of GPUs: a whole number, at least 1", text)
    return int(text)


def _partitions(
    fields: Fields, key: str, members: Callable[[Fields], Members], warnings: list[str]
) -> Iterator[Partition]:
    seen: set[Members] = set()
    for entry in fields.children(key):
        found = _partition(entry, members, warnings)
        same = Members(found.minors, found.addresses, found.modules)
        if same in seen:
            name = next(each for each in (MINORS, ADDRESSES, MODULES) if entry.has(each))
            raise entry.refuse(name, "is listed twice: a partition has one entry", list(entry.items(name)))
        seen.add(same)
        yield found


def _partition(entry: Fields, members: Callable[[Fields], Members], warnings: list[str]) -> Partition:
    if "NVLINK" in entry.values:
        raise entry.refuse("NVLINK", "is not allowed: partitions are the entries of the list themselves")
    entry.only(
        MINORS, ADDRESSES, MODULES, "gpuLinkType", "ringBusBandwidth", _OLD_BANDWIDTH, "allocationScore"
    )
    if entry.has(_OLD_BANDWIDTH):
        if entry.has("ringBusBandwidth"):
            raise entry.refuse(
                _OLD_BANDWIDTH, "is not allowed together with ringBusBandwidth, which is the same field"
            )
        warnings.append(f"{entry.subject}: {entry.at(_OLD_BANDWIDTH)} was read as ringBusBandwidth")
    width = _OLD_BANDWIDTH if entry.has(_OLD_BANDWIDTH) else "ringBusBandwidth"
    named = members(entry)
    return Partition(
        minors=named.minors,
        addresses=named.addresses,
        modules=named.modules,
        link=choice(entry, "gpuLinkType", _LINKS),
        bandwidth=_bandwidth(entry, width),
        score=_score(entry, warnings),
    )


def _score(entry: Fields, warnings: list[str]) -> int:
    value = entry.values.get("allocationScore")
    if isinstance(value, str) and value.isascii() and value.isdigit():
        warnings.append(f"{entry.subject}: {entry.at('allocationScore')} is quoted; it was read as a number")
        return int(value)
    return 0 if value is None else entry.integer("allocationScore", least=0)


def _bandwidth(fields: Fields, key: str) -> Quantity | None:
    if not fields.has(key):
        return None
    found = fields.quantity(key)
    if found.nano < 0:
        raise fields.refuse(key, "must not be negative", fields.values[key])
    return found
