"""Opens a user's files as text that is read line by line: long ones too, and pipes whose writer goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from daemon.opened import opened
from tangram.errors import BadInput


def name_of(path: str) -> str:
    """Return how messages name a file; ``-`` is standard input."""
    return "standard input" if path == "-" else path


@contextmanager
def opened_text(path: str, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a file of UTF-8 text, ``-`` for standard input. Never waits for a pipe's writer to come.

    Shape: ``newline`` as for ``open``.
    Raises: OSError, also for a pipe that nobody writes to; BadInput where standard input is closed.
    """
    if path != "-":
        with opened(Path(path)) as data, TextIOWrapper(data, encoding="utf-8", newline=newline) as text:
            yield text
    elif sys.stdin is None:
        raise BadInput("standard input: is closed: pipe a file into it, or name one")
    else:
        yield sys.stdin
