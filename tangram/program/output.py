"""The output of a command: pictures for people, one JSON value for programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from tangram.plain import plain
from tangram.program.streams import harmless

PLAIN_WIDTH: Final = 120  # holds the widest diagram where there is no terminal to ask
_USUAL_WIDTH: Final = 80
_NARROWEST: Final = 40  # a smaller value, such as COLUMNS=0, is no real width
_UNWRAPPED: Final = 100_000  # lines for programs are never broken


class Form(StrEnum):
    """What a command prints: pictures, pictures with more in them, or one value for programs."""

    USUAL = ""
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"


class _Console(Console):
    """A console that prints no control character out of a text, whatever picture the text is in."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(harmless(segment.text), segment.style)


class Output:
    """Standard output. Colours and widths follow the terminal; a file or pipe gets plain, unbroken text.

    Shape: ``width`` is how wide a picture may be; ``is_wide`` where a picture is to have more in it.
    Units: characters.
    """

    def __init__(self, form: Form = Form.USUAL) -> None:
        self._form = form
        self.is_wide = form is Form.WIDE
        self.console = _Console(highlight=False, markup=False, emoji=False)
        is_asked = self.console.is_terminal or "COLUMNS" in os.environ
        width = self.console.width if is_asked else PLAIN_WIDTH
        self.width = width if width >= _NARROWEST else _USUAL_WIDTH
        self.console.width = self.width if self.console.is_terminal else _UNWRAPPED

    def show(self, *pictures: RenderableType) -> None:
        """Print pictures, one below the other."""
        if self.console.is_terminal:
            self._print(pictures)
            return
        with self.console.capture() as drawn:  # remove the padding of tables, which is useless in a file
            self._print(pictures)
        self.text("\n".join(line.rstrip() for line in drawn.get().splitlines()))

    def again(self, *pictures: RenderableType) -> None:
        """Print pictures in the place of what the terminal shows; in a file, below what is there."""
        if self.console.is_terminal:
            self.console.clear()
        self.show(*pictures)
        sys.stdout.flush()

    def _print(self, pictures: Iterable[RenderableType]) -> None:
        for picture in pictures:
            self.console.print(picture)

    def heading(self, title: str, made_by: str = "") -> None:
        """Print a line that opens a part; ``made_by`` names the function that the part came from."""
        line = Text().append(title, style="bold").append(f"  {made_by}".rstrip(), style="dim")
        self.show(Text(), line, Text("─" * min(self.width, PLAIN_WIDTH), style="dim"))

    def text(self, text: str) -> None:
        """Print text as it is, for other programs to read."""
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")

    def flush(self) -> None:
        """Let a reader see what was printed, though more may follow."""
        sys.stdout.flush()

    def json(self, value: object) -> None:
        """Print one value for programs: as JSON, or as YAML where that was asked for."""
        if self._form is Form.YAML:
            self.text(yaml_text([value]))
        else:
            self.text(json.dumps(plain(value), indent=2))

    def json_line(self, value: object) -> None:
        """Print one of many values: JSON on a line of its own, or a YAML document."""
        if self._form is Form.YAML:
            self.text(f"---\n{yaml_text([value])}")
        else:
            self.text(json.dumps(plain(value), separators=(",", ":")))

    def documents(self, documents: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
        """Print API objects, as one YAML stream or as a JSON list."""
        if as_json and self._form is not Form.YAML:
            self.json(documents)
        else:
            self.text(yaml_text(documents))


def yaml_text(documents: Iterable[object]) -> str:
    """Return values, such as API objects, as one YAML stream, keys in their own order."""
    import yaml  # pictures need none

    return yaml.dump_all(
        [plain(document) for document in documents],
        Dumper=yaml.CSafeDumper,
        sort_keys=False,
        width=100,
    )
