"""Draws an allocation: what is cut from which GPU, and a table of what each claim got."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice
from scheduler_core.model.device import Device, DeviceName
from scheduler_core.model.names import qualified
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation, Unallocatable
from tangram.pictures.memory_slices import layouts, picture
from tangram.pictures.properties import capacity, what_of
from tangram.program.fitting import Column, FittingTable, Hanging


def allocation_picture(
    allocation: Allocation, pools: Sequence[Pool], held: Sequence[AllocatedClaim], width: int
) -> RenderableType:
    """Draw what the claims got; what other claims hold of the same GPUs is drawn faintly."""
    parts: list[RenderableType] = []
    for pool in pools:
        new = {device: holder for device, holder in _given(allocation, pool)}
        holders = {device: holder for device, holder in _held(held, pool)} | new
        touched = {layout.source for layout in layouts(pool, new, frozenset(new))}
        for layout in layouts(pool, holders, frozenset(new)):
            if layout.source in touched:
                parts += [Text(f"{layout.source} on {pool.id.name}", style="bold"), picture(layout, width)]
    return Group(*parts, _table(allocation, pools))


def refusal_picture(refusal: Unallocatable) -> RenderableType:
    """Say why the claims do not fit, a line per request."""
    head = Text(f"does not fit on {refusal.node}", style="bold red")
    return Group(head, *(Hanging(f"  {reason}") for reason in refusal.reasons))


def _given(allocation: Allocation, pool: Pool) -> Iterator[tuple[DeviceName, str]]:
    for ref, results in allocation.results.items():
        for result in results:
            if (result.device.driver, result.device.pool) == (pool.id.driver, pool.id.name):
                yield result.device.device, str(ref)


def _held(held: Sequence[AllocatedClaim], pool: Pool) -> Iterator[tuple[DeviceName, str]]:
    for claim in held:
        for result in claim.results:
            if (result.device.driver, result.device.pool) == (pool.id.driver, pool.id.name):
                yield result.device.device, str(claim.ref)


def _table(allocation: Allocation, pools: Sequence[Pool]) -> FittingTable:
    known = {(pool.id.driver, pool.id.name, device.name): device for pool in pools for device in pool.devices}
    rows = list[Sequence[str]]()
    for ref, results in allocation.results.items():
        for result in results:
            place = result.device
            device = known[place.driver, place.pool, place.device]
            pool = f"{place.driver}/{place.pool}"
            memory = _memory(device, result)
            rows.append((str(ref), result.request, place.device, what_of(device), memory, pool))
    heads = ("claim", "request", "device", "what", "memory", "pool")
    return FittingTable([Column(head, is_right=head == "memory") for head in heads], rows)


def _memory(device: Device, result: AllocatedDevice) -> str:
    """Return the memory of a device, and of one in shares which part of it the claim has."""
    memory = capacity(device, "memory")
    driver = result.device.driver
    share = {qualified(name, driver): amount for name, amount in result.consumed.items()}
    part = share.get(qualified("memory", driver))
    if memory is None:
        return ""
    return str(memory) if part is None else f"{part} of {memory}"
