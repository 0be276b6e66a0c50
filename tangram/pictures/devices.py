"""Devices as a table: one row for all that are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.explain.values_present import natural
from scheduler_core.model.device import Device, DeviceName
from scheduler_core.model.nodes import NOWHERE, AllNodes, Node, OnNode, admits
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
)
_NODES: Final = Column("nodes")
_NAMES: Final = Column("names", is_prose=True)
_STYLES: Final = {"gpu": "green", "mig": "green", "compute-instance": "green", "nic": "cyan", "vf": "cyan"}


@dataclass(frozen=True, slots=True)
class Row:
    """Devices that differ in place only.

    Shape: ``names`` in pool order, never empty; ``nodes`` says from which nodes they can be used, empty for a
           pool of one node.
    """

    kind: str
    what: str
    memory: str
    multiprocessors: str
    cut_from: str
    names: tuple[str, ...]
    nodes: str = ""


def rows(pool: Pool, nodes: Sequence[Node] = ()) -> tuple[Row, ...]:
    """Group the devices of a pool by kind, product or profile, and size, in order of appearance.

    Shape: ``nodes`` are those that are known.
    """
    kinds = {device.name: type_of(device) for device in pool.devices}
    grouped: dict[tuple[str, str, str, str, str], list[Device]] = {}
    for device in pool.devices:
        drawn = {DeviceName(draw.source) for draw in device.draws} | set(device.parents)
        cut_from = ", ".join(sorted({kinds.get(source, "") for source in drawn - {device.name}}))
        grouped.setdefault((*_alike(device), cut_from), []).append(device)
    is_of_one = len({device.nodes for device in pool.devices}) == 1 and isinstance(pool.seen_from[0], OnNode)
    return tuple(
        Row(*alike, tuple(one.name for one in devices), "" if is_of_one else _nodes_of(devices, nodes))
        for alike, devices in grouped.items()
    )


def _alike(device: Device) -> tuple[str, str, str, str]:
    sizes = (capacity(device, "memory"), capacity(device, "multiprocessors"))
    memory, multiprocessors = (str(size) if size is not None else "" for size in sizes)
    kind = type_of(device)
    if device.nodes == NOWHERE:
        kind += " (only cut)"  # it supplies its partitions and cannot be given whole
    return kind, what_of(device), memory, multiprocessors


def _nodes_of(devices: Sequence[Device], nodes: Sequence[Node]) -> str:
    """Return the known nodes from which devices can be used, and from how many each can."""
    if all(isinstance(device.nodes, AllNodes) for device in devices):
        return "all"
    admitting = [[node.name for node in nodes if admits(device.nodes, node)] for device in devices]
    names = sorted({name for each in admitting for name in each}, key=natural)
    counts = {len(each) for each in admitting}
    if not names:
        return "none known"
    span = ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}"
    if counts == {len(names)}:
        return span if len(names) < 3 else f"{len(names)}: {span}"
    each = str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return f"{each} each of {span}"


def devices_table(pool: Pool, nodes: Sequence[Node] = (), *, is_wide: bool = False) -> RenderableType:
    """Draw the devices of a pool, all names where it is wide; what was refused follows with its reason."""
    found = rows(pool, nodes)
    has_nodes = any(row.nodes for row in found)
    cells = [
        (
            Text(row.kind, style=_STYLES.get(row.kind.partition(" ")[0], "")),
            row.what,
            str(len(row.names)),
            row.memory,
            row.multiprocessors,
            row.cut_from,
            *((row.nodes,) if has_nodes else ()),
            ", ".join(row.names) if is_wide else _span(row.names),
        )
        for row in found
    ]
    table = FittingTable((*_COLUMNS, *((_NODES,) if has_nodes else ()), _NAMES), cells)
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
