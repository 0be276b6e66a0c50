"""The stations of the main job, in order."""

from __future__ import annotations

from typing import Any, Final

from rich.console import RenderableType

from scheduler_core.base.quick_dataclass import dataclass

STATIONS: Final = (
    "hardware",
    "inventory",
    "devices",
    "slices",
    "claim",
    "allocation",
    "prepare",
    "mig",
    "cdi",
    "unprepare",
)


@dataclass(frozen=True, slots=True)
class Station:
    """One station.

    Shape: ``name`` is one of ``STATIONS``; ``made_by`` names the functions that the value came from;
           ``picture`` is for people, ``value`` the same for machines; ``is_end`` where nothing follows,
           because the answer was no.
    """

    name: str
    made_by: str
    picture: RenderableType
    value: Any
    is_end: bool = False
