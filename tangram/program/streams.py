"""What is written to the standard streams outside a command's answer, and characters that they lack.

Where the answer is one value for programs, a message is too: one JSON object on a line of standard error.
"""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

ASCII_FORMS: Final = "tangram.ascii_forms"
"""The error handler for outputs that cannot show a character: it writes a similar one."""
_LOOKALIKES: Final = str.maketrans({"─": "-", "…": "...", "×": "x", "→": "->", "·": "|", "■": "#", "□": "."})
_REASONS: Final = {2: "WrongInput", 3: "Unreachable"}
_as_json: Final = ContextVar("as_json", default=False)


@contextmanager
def messages_as(*, json: bool) -> Iterator[None]:
    """Write messages as JSON, or as sentences, while the block runs."""
    before = _as_json.set(json)
    try:
        yield
    finally:
        _as_json.reset(before)


def is_for_programs() -> bool:
    """Whether messages are JSON."""
    return _as_json.get()


def complain(line: str) -> None:
    """Write a line about a problem that does not end the command."""
    _write(line, {"warning": line})


def fail(line: str, status: int) -> int:
    """Write why the command ends without an answer, and return the exit status."""
    _write(line, {"error": {"message": line, "reason": _REASONS[status], "exitStatus": status}})
    return status


def _write(line: str, value: Any) -> None:
    if sys.stderr is not None:  # without a standard error print would write to standard output
        print(json.dumps(value) if _as_json.get() else f"tangram: {line}", file=sys.stderr)


def _ascii_forms(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for the characters that an encoding lacks, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].translate(_LOOKALIKES)
    return lacking.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error(ASCII_FORMS, _ascii_forms)
