"""The control socket: one JSON object per line in, one per line out, each connection in a thread of its own.

In goes ``{"do": NAME, ...}``; out comes ``{"answer": ...}`` or ``{"error": TEXT}``. Only processes inside the
namespaces reach the socket's parts; the client is ``launcher.client``.
"""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from launcher.cluster import Cluster
from launcher.errors import LauncherError

Request = Mapping[str, Any]


def serve(cluster: Cluster, socket: Path) -> None:
    """Answer on this socket until the process ends."""
    operations = _operations(cluster)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            for line in self.rfile:
                self.wfile.write(json.dumps(_answer(operations, line)).encode() + b"\n")
                self.wfile.flush()

    server = socketserver.ThreadingUnixStreamServer(str(socket), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="control", daemon=True).start()


def _answer(operations: Mapping[str, Callable[[Request], Any]], line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
        operation = operations.get(request.get("do"))
        if operation is None:
            return {"error": f"cannot do {request.get('do')!r}: there are {', '.join(operations)}"}
        return {"answer": operation(request)}
    except (LauncherError, OSError, KeyError, ValueError) as error:
        return {"error": str(error) or type(error).__name__}


def _operations(cluster: Cluster) -> Mapping[str, Callable[[Request], Any]]:
    return {
        "describe": lambda _: _describe(cluster),
        "start": lambda request: cluster.begin(request["part"]),
        "stop": lambda request: cluster.stop(request["part"]),
        "kill": lambda request: cluster.kill(request["part"]),
        "tail": lambda request: cluster.part(request["part"]).tail(request["lines"]),
        "feature-gates": lambda request: cluster.set_gates(request["gates"]),
        "reboot": lambda request: cluster.reboot(request["node"]),
        "import": lambda request: cluster.import_image(Path(request["archive"]), request["nodes"]),
        "inside": lambda request: list(cluster.node(request["node"]).inside(request["argv"])),
    }


def _describe(cluster: Cluster) -> dict[str, Any]:
    return {
        "version": cluster.settings.version,
        "feature_gates": cluster.gates,
        "is_bare": cluster.settings.is_bare,
        "nodes": {node.name: str(node.root) for node in cluster.nodes},
        "parts": {name: {"pid": part.pid, "log": str(part.log)} for name, part in cluster.parts.items()},
    }
