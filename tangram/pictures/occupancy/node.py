"""One node: a line for each GPU and NIC, and who the letters are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.occupancy.naming import has_several_drivers, nodes_text, with_driver
from scheduler_core.frontends.occupancy.narrowing import functions_of, uses_of
from scheduler_core.frontends.occupancy.values import (
    Availability,
    FreePlaces,
    Gpu,
    GpuRoom,
    Mode,
    Nic,
    NodeOccupancy,
    OtherDevices,
)
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.names import domain_and_identifier
from scheduler_core.model.taints import Taint
from tangram.pictures.counted import counted
from tangram.pictures.occupancy.signs import Letters, legend
from tangram.program.fitting import Column, FittingTable, Hanging

NO_NODE: Final = "devices of no single node"
_WHATS: Final = {"gpu": "whole GPU"}
Pods = Mapping[ClaimRef, tuple[str, ...]]


def node_picture(
    node: NodeOccupancy, pods: Pods, *, namespace: str = "", is_wide: bool = False, is_mixed: bool = False
) -> Iterator[RenderableType]:
    """Draw one node.

    Shape: with a ``namespace``, only its claims are named below the bars; ``is_mixed`` where other nodes have
           devices of other drivers.
    """
    letters = Letters.of(use.claim for use in uses_of(node))
    yield Hanging(_head(node, is_whole=not namespace, is_mixed=is_mixed))
    yield from (Hanging(Text(f"  {problem}", style="yellow")) for problem in node.problems)
    if node.gpus:
        yield _gpus(node.gpus, letters, is_wide=is_wide)
    if node.nics:
        yield _nics(node.nics, letters, is_wide=is_wide)
    if node.others:
        yield _others(node.others, letters, is_of_node=bool(node.name))
    if any(gpu.shares and any(use.is_share for use in gpu.uses) for gpu in node.gpus):
        yield from _shares(node.gpus)
    meaning = legend(_signs(node, letters))
    if meaning.plain:
        yield Hanging(meaning)
    rows = list(_holders(node, letters, pods, namespace))
    if len(rows) < len(letters.by_claim):
        yield Text("other letters are claims of other namespaces", style="dim")
    if rows:
        yield FittingTable(
            (Column(""), Column("CLAIM"), Column("PODS", is_prose=True), Column("HOLDS", is_prose=True)), rows
        )


def _head(node: NodeOccupancy, *, is_whole: bool, is_mixed: bool) -> Text:
    head = Text(node.name or NO_NODE, style="bold")
    facts = []
    if is_mixed and node.drivers:
        facts.append(f"{'driver' if len(node.drivers) == 1 else 'drivers'} {', '.join(sorted(node.drivers))}")
    if node.gpus and is_whole:
        idle = sum(gpu.modes == (Mode.FREE,) for gpu in node.gpus)
        facts.append(f"{idle} of {counted(len(node.gpus), 'GPU')} free")
    if node.room is not None:
        facts.append(f"fragmentation {percent(node.room)}")
    if node.free:
        facts.append(f"fits: {fits_text(node.free)}")
    return head.append(f"  {'; '.join(facts)}" if facts else "", style="not bold")


def percent(room: GpuRoom | None) -> str:
    """Return a fragmentation in per cent, rounded up: only what is none is called 0 %."""
    if room is None:
        return "-"
    lost = room.best - room.now
    return f"{-(-100 * lost // room.best) if room.best else 0} %"


def fits_text(free: Iterable[FreePlaces]) -> str:
    """Return how many devices of each profile fit, those that do."""
    return ", ".join(f"{one.fits}×{what(one.what)}" for one in free if one.fits) or "nothing"


def what(kind: str) -> str:
    """Return what a device is called: its profile, or its kind in words."""
    return _WHATS.get(kind, kind)


def _gpus(gpus: Sequence[Gpu], letters: Letters, *, is_wide: bool) -> FittingTable:
    wide = (Column("MODEL"), Column("NUMA", is_right=True), Column("PCIE")) if is_wide else ()
    columns = (
        Column("GPU"),
        Column("MODE"),
        Column("MEMORY"),
        Column("FITS", is_prose=True),
        Column("FRAG", is_right=True),
        Column("HEALTH", is_prose=True),
        *wide,
    )
    is_mixed = has_several_drivers(gpus)
    names = [with_driver(one.name, one, is_mixed=is_mixed) for one in gpus]
    rows = [_gpu(one, name, letters, is_wide=is_wide) for one, name in zip(gpus, names, strict=True)]
    return FittingTable(columns, rows)


def _gpu(gpu: Gpu, name: str, letters: Letters, *, is_wide: bool) -> list[str | Text]:
    fits = [one for one in gpu.free if one.fits]
    place = gpu.place
    numa = "" if place.numa_node is None else str(place.numa_node)
    wide = [gpu.product, numa, place.pci_bus_id or ""] if is_wide else []
    return [
        name,
        "+".join(map(str, gpu.modes)),
        letters.bar(_gpu_signs(gpu, letters)),
        fits_text(fits if is_wide else fits[:1]),
        percent(gpu.room),
        health(gpu.taints),
        *wide,
    ]


def _gpu_signs(gpu: Gpu, letters: Letters) -> list[str]:
    """Return a sign per memory slice; one for the whole GPU where it has none."""
    if gpu.memory_slices:
        return [letters.sign(one.state, one.holders) for one in gpu.memory_slices]
    holders = tuple(dict.fromkeys(use.claim for use in gpu.uses))
    if any(use.is_share for use in gpu.uses):
        return [letters.sign(Availability.SHARED, holders)]
    if holders:
        return [letters.sign(Availability.HELD, holders)]
    is_free = any(one.places for one in gpu.free) or any(one.left and one.left.nano for one in gpu.shares)
    return [letters.sign(Availability.FREE if is_free else Availability.UNUSABLE, ())]


def _nics(nics: Sequence[Nic], letters: Letters, *, is_wide: bool) -> FittingTable:
    wide = (Column("LINK"), Column("NUMA", is_right=True), Column("PCIE")) if is_wide else ()
    columns = (
        Column("NIC"),
        Column("WHOLE"),
        Column("VFS"),
        Column("FREE", is_right=True),
        Column("HEALTH", is_prose=True),
    )
    is_mixed = has_several_drivers(nics)
    names = [with_driver(one.name, one, is_mixed=is_mixed) for one in nics]
    rows = [_nic(one, name, letters, is_wide=is_wide) for one, name in zip(nics, names, strict=True)]
    return FittingTable((*columns, *wide), rows)


def _nic(nic: Nic, name: str, letters: Letters, *, is_wide: bool) -> list[str | Text]:
    place = nic.place
    numa = "" if place.numa_node is None else str(place.numa_node)
    wide = [nic.link_type, numa, place.pci_bus_id or ""] if is_wide else []
    free = sum(one.state is Availability.FREE for one in nic.vfs)
    whole = "" if nic.whole is None else letters.bar([letters.sign(nic.whole.state, nic.whole.holders)])
    vfs = [letters.sign(one.state, one.holders) for one in nic.vfs]
    return [
        name,
        whole,
        letters.bar(vfs) if vfs else "",
        f"{free} of {len(nic.vfs)}" if vfs else "",
        health(nic.taints),
        *wide,
    ]


def _others(others: Sequence[OtherDevices], letters: Letters, *, is_of_node: bool) -> FittingTable:
    """Draw the other devices; those of no single node with their pool and where they can be used."""
    columns = [Column("OTHER"), Column("FREE", is_right=True), Column("HELD BY", is_prose=True)]
    if not is_of_node:
        columns += [Column("POOL", is_prose=True), Column("USABLE FROM", is_prose=True)]
    is_mixed = has_several_drivers(others)
    rows: list[list[str | Text]] = []
    for one in others:
        held = " ".join(sorted({letters.by_claim[use.claim] for use in one.uses}))
        where = [] if is_of_node else [one.pool.name, nodes_text(one.usable_from)]
        name = with_driver(one.what, one, is_mixed=is_mixed)
        rows.append([name, f"{one.free} of {one.count}", held, *where])
    return FittingTable(columns, rows)


def _shares(gpus: Iterable[Gpu]) -> Iterator[RenderableType]:
    for gpu in gpus:
        used = {use.device for use in gpu.uses if use.is_share}
        for one in gpu.shares:
            if one.device in used:
                left = "" if one.left is None else f": {_amount(one.left)} of {_amount(one.memory)} left"
                yield Hanging(Text(f"shares of {one.device}{left}"))


def _amount(memory: Quantity | None) -> str:
    return "0" if memory is None or not memory.nano else str(memory)


def health(taints: Iterable[Taint]) -> Text:
    """Return the taints that keep claims away, by key and value."""
    told = ", ".join(
        f"{domain_and_identifier(one.key)[1]}{f'={one.value}' if one.value else ''}" for one in taints
    )
    return Text(told, style="bold red") if told else Text("ok", style="green")


def _signs(node: NodeOccupancy, letters: Letters) -> Iterator[str]:
    for gpu in node.gpus:
        yield from _gpu_signs(gpu, letters)
    for one in functions_of(node):
        yield letters.sign(one.state, one.holders)


def _holders(node: NodeOccupancy, letters: Letters, pods: Pods, namespace: str) -> Iterator[list[str | Text]]:
    """Yield a row for each claim: its letter, its pods, and each device with what it has of it."""
    held: dict[ClaimRef, dict[str, None]] = {}
    for use in uses_of(node):
        amount = f" {use.memory}" if use.is_share and use.memory is not None else ""
        name = what(use.what)
        told = str(use.device) if name in (str(use.device), "vf", "nic") else f"{use.device} ({name}{amount})"
        held.setdefault(use.claim, {})[told] = None
    for claim, letter in letters.by_claim.items():
        if claim in held and namespace in ("", claim.namespace):
            names = ", ".join(pods.get(claim, ())) or "-"
            yield [Text(letter, style=letters.style(letter)), str(claim), names, ", ".join(held[claim])]
