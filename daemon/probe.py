"""A kubelet's probe of a program in the same pod, such as ``python3 -m agent.probe SOCKET PATH``.

Takes the unix socket that ``--probe-socket`` names and a path such as ``/healthz``. Prints the answer; the
exit status is 0 for HTTP status 200, else 1. It runs every few seconds, so it imports little.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from daemon.status.asking import OK, ask

_WELL: Final = 0
_SICK: Final = 1


def main(program: str, argv: Sequence[str]) -> int:
    """Print what a program, ``agent`` or ``plugin``, answers and return the exit status."""
    if len(argv) != 2:
        example = f"/run/tangram/{program}.sock /healthz"
        sys.stderr.write(f"usage: python3 -m {program}.probe SOCKET PATH, such as {example}\n")
        return _SICK
    path, asked = argv
    try:
        status, text = ask(path, asked)
    except OSError as error:
        reason = f"{error}; the {program} is not running, or too busy"
        sys.stderr.write(f"ask the {program} on {path} for {asked}: {reason}\n")
        return _SICK
    sys.stdout.write(text)
    return _WELL if status == OK else _SICK
