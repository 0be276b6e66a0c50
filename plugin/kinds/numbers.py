"""PURE: which number each GPU had when devices of claims were prepared, by their records.

So a file of numbers that was lost gives no other GPU the name of one that is in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.hardware.types import normal_bdf
from agent.inventory.numbers.numbering import Witness
from plugin.kinds.claimed import Claimed
from scheduler_core.frontends.partitions.gpu_numbers import numbers_in


def witnesses_in(devices: Iterable[Claimed], pool: str) -> Iterator[Witness]:
    """Yield what devices of a node's pool say. Shape: a group of GPUs says it of each."""
    for device in devices:
        if device.pool == pool:
            yield from _witnesses(device)


def _witnesses(device: Claimed) -> Iterator[Witness]:
    numbers, addresses = numbers_in(device.device), device.pci_addresses or ()
    if len(numbers) == len(addresses):
        for number, address in zip(numbers, addresses, strict=True):
            yield Witness(number, normal_bdf(address))
