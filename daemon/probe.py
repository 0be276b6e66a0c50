"""A kubelet's probe of a program in the same pod, such as ``python3 -m agent.probe SOCKET PATH``.

Takes the unix socket that ``--probe-socket`` names and a path such as ``/healthz``. Prints the answer; the
exit status is 0 for HTTP status 200, else 1. It runs every few seconds, so it imports little.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from typing import Final

_WELL: Final = 0
_SICK: Final = 1
_TIMEOUT_S: Final = 8.0  # longer than a program asks itself, shorter than the manifests let a probe run


def main(program: str, argv: Sequence[str]) -> int:
    """Print what a program, ``agent`` or ``plugin``, answers and return the exit status."""
    if len(argv) != 2:
        example = f"/run/tangram/{program}.sock /healthz"
        sys.stderr.write(f"usage: python3 -m {program}.probe SOCKET PATH, such as {example}\n")
        return _SICK
    path, asked = argv
    try:
        answer = _ask(path, asked)
    except OSError as error:
        reason = f"{error}; the {program} is not running, or too busy"
        sys.stderr.write(f"ask the {program} on {path} for {asked}: {reason}\n")
        return _SICK
    head, _, body = answer.partition("\r\n\r\n")
    sys.stdout.write(body)
    return _WELL if head.split()[1:2] == ["200"] else _SICK


def _ask(path: str, asked: str) -> str:
    """Return the whole answer. Raises: OSError."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_TIMEOUT_S)
        asking.connect(path)
        asking.sendall(f"GET {asked} HTTP/1.0\r\n\r\n".encode())
        with asking.makefile("rb") as answer:
            return answer.read().decode(errors="replace")
