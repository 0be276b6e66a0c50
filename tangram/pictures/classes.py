"""Resource classes as pictures: what each has and how much is in use, and what pods were given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.frontends.classes.annotation import annotations_of
from scheduler_core.frontends.classes.model import Grant
from scheduler_core.frontends.classes.state import Status
from tangram.program.fitting import Column, FittingTable

_COLUMNS: Final = (
    Column("class"),
    Column("allocatable", is_right=True),
    Column("requested", is_right=True),
    Column("free", is_right=True),
    Column("devices", is_prose=True),
)


def classes_table(
    found: Mapping[str, Status],
    free: Mapping[str, int],
    devices: Mapping[str, Sequence[str]],
    *,
    is_wide: bool = False,
) -> RenderableType:
    """List the classes, with all names of devices where it is wide."""
    span = ", ".join if is_wide else _span
    rows = [
        (name, str(status.allocatable), str(status.requested), str(free[name]), span(devices[name]))
        for name, status in found.items()
    ]
    return FittingTable(_COLUMNS, rows)


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
