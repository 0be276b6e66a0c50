"""PURE: which number each GPU of a node has.

A number belongs to a PCI address. It is given once, in the order of the addresses, and never given to another
one: a GPU that is gone keeps its number, and a new GPU gets a new number. The minor of the driver is no name:
it counts the GPUs that the driver found at this boot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import Final, Protocol

from agent.hardware.types import Bdf, Gpu, GpuUuid

Numbers = Mapping[Bdf, int]
"""The number of each address, also of those where no GPU is any more."""

LAST_NUMBER: Final = 9999
"""The greatest number: the names of devices and the file that keeps the numbers have four digits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedGpu(Gpu):
    """A GPU that the driver lists, with the node's number of its address: ``gpu-3`` has 3."""

    number: int

    @classmethod
    def of(cls, gpu: Gpu, number: int) -> NumberedGpu:
        """Return a GPU with its number."""
        return cls(number=number, **{each.name: getattr(gpu, each.name) for each in fields(Gpu)})


@dataclass(frozen=True, slots=True)
class GpusSeen:
    """The GPUs that the machine shows now.

    Shape: ``addresses`` of all GPUs, whether the driver lists them or not; ``by_uuid`` the addresses of those
           that the driver lists.
    """

    addresses: frozenset[Bdf]
    by_uuid: Mapping[GpuUuid, Bdf] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Witness:
    """What a slice or a record says of a number. Shape: ``address`` or ``uuid`` is known, or both are."""

    number: int
    address: Bdf | None = None
    uuid: GpuUuid | None = None


class Numbering(Protocol):
    """Numbers the GPUs of a node."""

    def __call__(self, seen: GpusSeen) -> Numbers:
        """Return the numbers, among them one for each GPU that is seen. Raises: HardwareError."""
        ...


def in_pci_order(seen: GpusSeen) -> Numbers:
    """Number the GPUs by their addresses, for who keeps no numbers."""
    return first_numbers((), seen)


def first_numbers(witnesses: Iterable[Witness], seen: GpusSeen) -> Numbers:
    """Return numbers for a node that has none: those that somebody knows, then the rest by address.

    Shape: of witnesses that contradict each other the first one counts; a number that no GPU can have is
           passed over.
    """
    found: dict[Bdf, int] = {}
    for one in witnesses:
        if not 0 <= one.number <= LAST_NUMBER:
            continue
        address = one.address or (seen.by_uuid.get(one.uuid) if one.uuid else None)
        if address is not None and address not in found and one.number not in found.values():
            found[address] = one.number
    return _with_free_numbers(found, seen, range(LAST_NUMBER + 1))


def with_new_gpus(known: Numbers, seen: GpusSeen) -> Numbers:
    """Return the numbers with new ones for the GPUs that have none, above all others.

    Shape: after the last number there is, those that no GPU has.
    """
    above = max(known.values(), default=-1) + 1
    return _with_free_numbers(known, seen, chain(range(above, LAST_NUMBER + 1), range(above)))


def _with_free_numbers(known: Numbers, seen: GpusSeen, numbers: Iterable[int]) -> Numbers:
    taken = frozenset(known.values())
    free = (number for number in numbers if number not in taken)
    return {**known, **dict(zip(_in_order(seen.addresses - known.keys()), free, strict=False))}


def _in_order(addresses: Iterable[Bdf]) -> list[Bdf]:
    """Return addresses in the order of the bus; a domain of five digits comes after all of four."""
    return sorted(addresses, key=lambda bdf: (len(bdf), bdf))
