"""Asks a program of the same host over its unix socket. It runs in probes, so it imports little."""

from __future__ import annotations

import socket
from typing import Final

TIMEOUT_S: Final = 8.0  # longer than a program asks itself, shorter than the manifests let a probe run
OK: Final = 200
STATUS: Final = "/status"
STATUS_JSON: Final = "/status.json"
LOG_LEVEL: Final = "/log-level"


def ask(path: str, asked: str, *, change: str | None = None) -> tuple[int, str]:
    """Return the HTTP status and the text of the answer.

    Shape: ``path`` of the socket, ``asked`` such as ``/healthz``; ``change`` what to set it to, None to read.
    Raises: OSError.
    """
    body = b"" if change is None else change.encode()
    method = "GET" if change is None else "PUT"
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(TIMEOUT_S)
        asking.connect(path)
        asking.sendall(f"{method} {asked} HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        with asking.makefile("rb") as answer:
            head, _, text = answer.read().decode(errors="replace").partition("\r\n\r\n")
    words = head.split()
    if len(words) < 2 or not words[1].isdecimal():
        raise OSError("it ended the connection without an answer")
    return int(words[1]), text
