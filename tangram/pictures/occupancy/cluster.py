"""A whole cluster: its nodes one below the other, then what the claims of each namespace hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.frontends.occupancy.values import ClusterOccupancy, NamespaceTotal
from tangram.pictures.counted import counted
from tangram.pictures.occupancy.node import fits_text, node_picture, percent
from tangram.program.fitting import Column, FittingTable, Hanging

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
    """Draw a cluster. Shape: with a ``namespace``, only its claims are named."""
    pods = {one.claim: one.pods for one in found.holders}
    for node in found.nodes:
        yield Group(*node_picture(node, pods, namespace=namespace, is_wide=is_wide), Text())
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
