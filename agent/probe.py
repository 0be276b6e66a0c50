"""A kubelet's probe of the agent in the same pod: ``python3 -m agent.probe SOCKET PATH``.

Takes the unix socket that ``--probe-socket`` names and a path such as ``/readyz``. The answer is printed; the
exit status is 0 for HTTP status 200, else 1. It runs every few seconds, so it imports little.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from typing import Final

_WELL: Final = 0
_SICK: Final = 1
_TIMEOUT_S: Final = 5.0
_USAGE: Final = "usage: python3 -m agent.probe SOCKET PATH, such as /run/tangram/agent.sock /readyz\n"


def main(argv: Sequence[str]) -> int:
    """Print what the agent answers and return the exit status."""
    if len(argv) != 2:
        sys.stderr.write(_USAGE)
        return _SICK
    path, asked = argv
    try:
        answer = _ask(path, asked)
    except OSError as error:
        reason = f"{error}; the agent is not running, or too busy"
        sys.stderr.write(f"ask the agent on {path} for {asked}: {reason}\n")
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
