"""What an explanation says, before it is printed: for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType

from scheduler_core.base.quick_dataclass import dataclass
from tangram.face import Face


@dataclass(frozen=True, slots=True)
class Told:
    """An explanation. Shape: ``status`` is the exit status, ``value`` what ``--json`` prints."""

    status: int
    value: Mapping[str, Any]
    pictures: tuple[RenderableType | str, ...]

    def show(self, face: Face, *, as_json: bool) -> int:
        """Print it, and return the exit status."""
        if as_json:
            face.out.json(self.value)
        else:
            face.out.show(*self.pictures)
        return self.status
