"""A whole cluster: its nodes one below the other, then what the claims of each namespace hold.

A cluster of many nodes is one line for each node, so that it can be read, and is drawn in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.frontends.occupancy.values import (
    Availability,
    ClusterOccupancy,
    Mode,
    NamespaceTotal,
    NodeOccupancy,
)
from tangram.pictures.counted import counted
from tangram.pictures.occupancy.node import NO_NODE, fits_text, health, node_picture, percent
from tangram.program.fitting import Column, FittingTable, Hanging

_MANY: Final = 20  # nodes; more are one line each
_TOTALS: Final[tuple[tuple[str, Callable[[NamespaceTotal], object]], ...]] = (
    ("CLAIMS", lambda one: one.claims),
    ("GPUS", lambda one: one.gpus),
    ("MEMORY SLICES", lambda one: one.memory_slices),
    ("SHARES", lambda one: one.shares),
    ("MEMORY", lambda one: str(one.memory) if one.memory.nano else 0),
    ("NICS", lambda one: one.nics),
    ("VFS", lambda one: one.vfs),
    ("OTHER", lambda one: one.others),
)


def occupancy_picture(
    found: ClusterOccupancy, *, namespace: str = "", is_wide: bool = False
) -> Iterator[RenderableType]:
    """Draw a cluster. Shape: with a ``namespace``, only its claims are named; all nodes in full if wide."""
    pods = {one.claim: one.pods for one in found.holders}
    is_mixed = len(found.drivers) > 1
    is_long = len(found.nodes) > _MANY and not is_wide
    for node in () if is_long else found.nodes:
        drawn = node_picture(node, pods, namespace=namespace, is_wide=is_wide, is_mixed=is_mixed)
        yield Group(*drawn, Text())
    if is_long:
        yield _nodes(found)
        yield Text("name nodes to see their GPUs, NICs and holders, or use -o wide", style="dim")
        yield Text()
    if len(found.nodes) > 1:
        gpus = counted(sum(len(node.gpus) for node in found.nodes), "GPU")
        yield Hanging(
            Text(f"{counted(len(found.nodes), 'node')}, {gpus}", style="bold").append(
                f"  fragmentation {percent(found.room)}; fits: {fits_text(found.free)}", style="not bold"
            )
        )
        yield Text()
    yield _namespaces(found) if found.namespaces else Text("no claim holds a device")


def _namespaces(found: ClusterOccupancy) -> FittingTable:
    """Draw the totals; a column in which every namespace has nothing is left out."""
    used = [(head, value) for head, value in _TOTALS if any(value(one) for one in found.namespaces)]
    columns = (Column("NAMESPACE"), *(Column(head, is_right=True) for head, _ in used))
    return FittingTable(
        columns, [[one.namespace, *(str(value(one)) for _, value in used)] for one in found.namespaces]
    )


def _nodes(found: ClusterOccupancy) -> FittingTable:
    """Draw one line for each node; a column of other devices only where there are some."""
    has_others = any(one.others for one in found.nodes)
    others = (Column("FREE OTHERS", is_right=True),) if has_others else ()
    columns = (
        Column("NODE"),
        Column("FREE GPUS", is_right=True),
        Column("FREE MEMORY SLICES", is_right=True),
        Column("FREE VFS", is_right=True),
        *others,
        Column("FITS", is_prose=True),
        Column("FRAG", is_right=True),
        Column("HEALTH", is_prose=True),
    )
    return FittingTable(columns, [_node(one, has_others=has_others) for one in found.nodes])


def _node(node: NodeOccupancy, *, has_others: bool) -> list[str | Text]:
    slices = [one.state for gpu in node.gpus for one in gpu.memory_slices]
    vfs = [one.state for nic in node.nics for one in nic.vfs]
    taints = [one for part in (node.gpus, node.nics) for each in part for one in each.taints]
    free, count = sum(one.free for one in node.others), sum(one.count for one in node.others)
    return [
        node.name or NO_NODE,
        f"{sum(gpu.modes == (Mode.FREE,) for gpu in node.gpus)} of {len(node.gpus)}",
        f"{slices.count(Availability.FREE)} of {len(slices)}",
        f"{vfs.count(Availability.FREE)} of {len(vfs)}",
        *((f"{free} of {count}",) if has_others else ()),
        fits_text([one for one in node.free if one.fits][:1]),
        percent(node.room),
        Text("; ".join(node.problems), style="yellow") if node.problems else health(dict.fromkeys(taints)),
    ]
