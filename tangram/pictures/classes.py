"""Resource classes as pictures: what each has and how much is in use, and what pods were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from scheduler_core.frontends.classes.annotation import annotations_of
from scheduler_core.frontends.classes.model import Grant
from scheduler_core.frontends.classes.state import Status


def classes_table(
    found: Mapping[str, Status], free: Mapping[str, int], devices: Mapping[str, Sequence[str]]
) -> RenderableType:
    """List the classes."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("class", "allocatable", "requested", "free", "devices"):
        table.add_column(head, justify="left" if head in ("class", "devices") else "right")
    for name, status in found.items():
        numbers = (status.allocatable, status.requested, free[name])
        table.add_row(name, *map(str, numbers), _span(devices[name]))
    return table


def grant_picture(pod: str, grant: Grant) -> RenderableType:
    """Say where a pod runs and the annotations that say what it was given."""
    lines = (Text(f"  {key}={value}") for key, value in annotations_of(grant.uses).items())
    return Group(Text(f"Pod {pod} on {grant.node}", style="bold"), *lines)


def unplaced_picture(pod: str, reason: str) -> RenderableType:
    """Say why a pod fits nowhere."""
    return Group(Text(f"Pod {pod} does not fit", style="bold red"), Text(f"  {reason}"))


def _span(names: Sequence[str]) -> str:
    if not names:
        return "–"
    return names[0] if len(names) == 1 else f"{names[0]} … {names[-1]}"
