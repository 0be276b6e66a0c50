"""What a server says to whoever lists and watches, and from where it was asked to go on."""

from __future__ import annotations

from typing import Any

from scripted_api import Reply, Script, document, status


def listing(version: int, *names: str) -> Reply:
    items = [document(name, version) for name in names]
    return Reply({"metadata": {"resourceVersion": str(version)}, "items": items})


def line(kind: str, name: str, version: int) -> dict[str, Any]:
    return {"type": kind, "object": document(name, version)}


def bookmark(version: int) -> dict[str, Any]:
    return {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}}


def error(code: int, reason: str, **details: Any) -> dict[str, Any]:
    return {"type": "ERROR", "object": status(code, reason, **details)}


def versions(server: Script) -> list[str | None]:
    """Return from where each watch began; None stands for a list."""
    return [request.query.get("resourceVersion") for request in server.requests]
