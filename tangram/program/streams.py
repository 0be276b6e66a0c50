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
# Each control character as its picture, one column wide; C1, and what turns the direction of text, as U+FFFD.
_PICTURES: Final = (
    {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: 0x2421}
    | dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
)
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


def harmless(text: str) -> str:
    """Return a text without what would change a terminal: names in files may have any character.

    Shape: as many characters as before; line feeds and tabs stay.
    """
    return text if text.isprintable() else text.translate(_PICTURES)


def one_line(text: str) -> str:
    """Return a harmless text as one line: a name with a line feed must not look like a line of ours."""
    return harmless(text).replace("\n", "\u2424")


def complain(line: str) -> None:
    """Write a line about a problem that does not end the command."""
    _write(line, {"warning": line})


def fail(line: str, status: int) -> int:
    """Write why the command ends without an answer, and return the exit status."""
    _write(line, {"error": {"message": line, "reason": _REASONS[status], "exitStatus": status}})
    return status


def _write(line: str, value: Any) -> None:
    if sys.stderr is not None:  # without a standard error print would write to standard output
        shown = harmless(line).replace("\n", "\n  ")  # no line but the first begins at the left edge
        print(json.dumps(value) if _as_json.get() else f"tangram: {shown}", file=sys.stderr)


def _ascii_forms(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for the characters that an encoding lacks, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].translate(_LOOKALIKES)
    return lacking.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error(ASCII_FORMS, _ascii_forms)
