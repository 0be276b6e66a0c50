"""An API server that knows one claim, over a real socket, and the way to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

SLICES = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSliceList"}


@dataclass
class Server:
    """An API server that knows one claim and answers as it is told.

    Shape: ``slices`` are what it lists; while ``lists`` is another status than 200 it lists nothing.
    """

    slices: list[dict[str, Any]] = field(default_factory=list)
    lists: int = 200
    listed: list[str] = field(default_factory=list)
    claim: dict[str, Any] | None = None
    fails: list[int] = field(default_factory=list)
    applied: list[tuple[str, Any]] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    sorts_keys: bool = False
    conflicts: int = 0
    connections: int = 0
    reads: int = 0
    thinks: Callable[[], None] = lambda: None
    writes: Callable[[bytes], bytes] = lambda text: text

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.fails:
            return self.fails.pop(0), {"kind": "Status", "message": "the server says no", "reason": "Told"}
        if "/resourceslices" in path:
            self.listed.append(path)
            return self.lists, {**SLICES, "metadata": {"resourceVersion": "1"}, "items": self.slices}
        if "/events" in path:
            self.events.append(body)
            return 201, {"metadata": {"name": "e"}, **body}
        if method == "PATCH" and self.sorts_keys and "force=true" in path:
            cause = {
                "reason": "FieldValueInvalid",
                "field": "status.allocation",
                "message": "cannot be modified",
            }
            return 422, {
                "kind": "Status",
                "message": "invalid",
                "reason": "Invalid",
                "details": {"causes": [cause]},
            }
        if method == "PATCH" and self.conflicts:
            self.conflicts -= 1
            return 409, {"kind": "Status", "message": "the object has been modified", "reason": "Conflict"}
        if method == "PATCH":
            self.applied.append((path, body))
        else:
            self.reads += 1
            self.thinks()
        if self.claim is None:
            return 404, {"kind": "Status", "reason": "NotFound", "message": "not found"}
        return 200, self.claim

    @contextmanager
    def served(self) -> Iterator[str]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                server.connections += 1
                super().setup()

            def handle_one(self, method: str) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size)) if size else None
                status, document = server.answer(method, self.path, body)
                data = server.writes(json.dumps(document).encode())
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                self.handle_one("GET")

            def do_PATCH(self) -> None:
                self.handle_one("PATCH")

            def do_POST(self) -> None:
                self.handle_one("POST")

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
            http.daemon_threads = True
            thread = Thread(target=http.serve_forever, daemon=True)
            thread.start()
            try:
                yield f"http://127.0.0.1:{http.server_address[1]}"
            finally:
                http.shutdown()
                thread.join()


def kubeconfig(folder: Path, url: str) -> Path:
    path = folder / "kubeconfig"
    named = {"name": "c", "cluster": {"server": url}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {"token": "t"}}]
    document = {"clusters": [named], "contexts": [context], "users": users, "current-context": "c"}
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **document}))
    return path


def allocated(*results: tuple[str, str], uid: str = "u1") -> dict[str, Any]:
    entries = [
        {"request": "r", "driver": driver, "pool": "a100x2", "device": device} for driver, device in results
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team", "name": "c", "uid": uid},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
        "status": {"allocation": {"devices": {"results": entries}}},
    }
