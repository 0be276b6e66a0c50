"""What is written to the standard streams outside a command's answer, and characters that they lack."""

from __future__ import annotations

import codecs
import sys
from typing import Final

ASCII_FORMS: Final = "tangram.ascii_forms"
"""The error handler for outputs that cannot show a character: it writes a similar one."""
_LOOKALIKES: Final = str.maketrans({"─": "-", "…": "...", "×": "x", "→": "->", "·": "|", "■": "#", "□": "."})


def complain(line: str) -> None:
    """Write a line about a problem to standard error."""
    if sys.stderr is not None:  # without a standard error print would write to standard output
        print(f"tangram: {line}", file=sys.stderr)


def _ascii_forms(error: UnicodeError) -> tuple[str, int]:
    """Return what stands for the characters that an encoding lacks, and where to go on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end].translate(_LOOKALIKES)
    return lacking.encode("ascii", "backslashreplace").decode("ascii"), error.end


codecs.register_error(ASCII_FORMS, _ascii_forms)
