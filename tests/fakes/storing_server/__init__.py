"""An API server with one node that stores the slices of an agent, for tests of the agent as a program."""

from __future__ import annotations

import itertools
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from scripted_api import Reply, Request, Script, write_kubeconfig

KINDS = {
    "nodes": "NodeList",
    "resourceslices": "ResourceSliceList",
    "compositeresourceslices": "CompositeResourceSliceList",
}
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
OLD = "v1.33.2"


class StoringServer:
    """A server with one node that stores whatever it is sent.

    Shape: ``written`` the slices, as they come; ``version`` one before 1.34 serves no slices.
    """

    version = "v1.36.2"

    def __init__(self, server: Script, folder: Path) -> None:
        self.written: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._numbers = itertools.count(1)
        host, port = server.server_address[:2]
        self.kubeconfig = write_kubeconfig(
            folder / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"}
        )
        server.answers(self.answer)

    def wait_until_published(self, *beginnings: str) -> set[str]:
        """Return the names of the devices once there is one with each beginning."""
        names: set[str] = set()
        while not all(any(name.startswith(one) for name in names) for one in beginnings):
            names |= {device["name"] for device in self.written.get(timeout=100)["spec"].get("devices", ())}
        return names

    def answer(self, request: Request) -> Reply:
        if request.method in {"POST", "PUT"}:
            number = str(next(self._numbers))
            known = {"uid": f"uid-{number}", "resourceVersion": number}
            stored = {**request.body, "metadata": {**request.body["metadata"], **known}}
            if request.path.startswith(SLICES) and "dryRun" not in request.query:
                self.written.put(stored)
            return Reply(stored, 201 if request.method == "POST" else 200)
        if "watch" in request.query:
            return Reply(b"")
        if request.path == "/version":
            return Reply({"gitVersion": self.version})
        if request.path.startswith("/apis/resource.k8s.io") and self.version == OLD:
            return Reply(b"404 page not found\n", 404)
        if request.path == "/apis/resource.k8s.io/v1":
            return Reply({"kind": "APIResourceList", "resources": [{"name": "resourceslices"}]})
        node = {"metadata": {"name": "node-1", "uid": "uid-of-node", "resourceVersion": "1"}}
        if request.path == "/api/v1/nodes/node-1":
            return Reply(node)
        folder, _, plural = request.path.rpartition("/")
        items = [node] if plural == "nodes" else []
        version = folder.removeprefix("/apis/").removeprefix("/api/")
        listed = {"apiVersion": version, "kind": KINDS[plural], "metadata": {"resourceVersion": "1"}}
        return Reply({**listed, "items": items})
