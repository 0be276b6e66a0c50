"""Devices as a table: one row for all that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.device import Device, DeviceName
from scheduler_core.model.nodes import NOWHERE
from scheduler_core.model.pool import Pool
from tangram.pictures.counted import counted
from tangram.pictures.properties import capacity, type_of, what_of
from tangram.program.fitting import Column, FittingTable, Hanging

_COLUMNS: Final = (
    Column("kind"),
    Column("what"),
    Column("devices", is_right=True),
    Column("memory", is_right=True),
    Column("SMs", is_right=True),
    Column("cut from"),
    Column("names", is_prose=True),
)
_STYLES: Final = {"gpu": "green", "mig": "green", "compute-instance": "green", "nic": "cyan", "vf": "cyan"}


@dataclass(frozen=True, slots=True)
class Row:
    """Devices that differ in place only. Shape: ``names`` in pool order, never empty."""

    kind: str
    what: str
    memory: str
    multiprocessors: str
    cut_from: str
    names: tuple[str, ...]


def rows(pool: Pool) -> tuple[Row, ...]:
    """Group the devices of a pool by kind, product or profile, and size, in order of appearance."""
    kinds = {device.name: type_of(device) for device in pool.devices}
    grouped: dict[tuple[str, str, str, str, str], list[str]] = {}
    for device in pool.devices:
        drawn = {DeviceName(draw.source) for draw in device.draws} | set(device.parents)
        cut_from = ", ".join(sorted({kinds.get(source, "") for source in drawn - {device.name}}))
        grouped.setdefault((*_alike(device), cut_from), []).append(device.name)
    return tuple(Row(*alike, tuple(names)) for alike, names in grouped.items())


def _alike(device: Device) -> tuple[str, str, str, str]:
    sizes = (capacity(device, "memory"), capacity(device, "multiprocessors"))
    memory, multiprocessors = (str(size) if size is not None else "" for size in sizes)
    kind = type_of(device)
    if device.nodes == NOWHERE:
        kind += " (only cut)"  # it supplies its partitions and cannot be given whole
    return kind, what_of(device), memory, multiprocessors


def devices_table(pool: Pool, *, is_wide: bool = False) -> RenderableType:
    """Draw the devices of a pool, all names where it is wide; what was refused follows with its reason."""
    cells = [
        (
            Text(row.kind, style=_STYLES.get(row.kind.partition(" ")[0], "")),
            row.what,
            str(len(row.names)),
            row.memory,
            row.multiprocessors,
            row.cut_from,
            ", ".join(row.names) if is_wide else _span(row.names),
        )
        for row in rows(pool)
    ]
    table = FittingTable(_COLUMNS, cells)
    total = Text(f"{counted(len(pool.devices), 'device')} in pool {pool.id}", style="dim")
    problems = [
        Hanging(Text(f"{name} is left out: {rejected.reason}", style="red"))
        for name, rejected in pool.rejected.items()
    ]
    if pool.problem is not None:
        problems.append(Hanging(Text(f"the pool cannot be used: {pool.problem}", style="red")))
    return Group(table, total, *problems)


def _span(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
