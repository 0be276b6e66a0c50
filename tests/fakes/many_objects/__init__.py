"""An API server with very many objects: lists in pages, watches, and objects that are made and deleted.

Objects are texts. Those that differ only in a name are made when they are asked for, so that a thousand nodes
with their slices take the memory of one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Text = Callable[[], bytes]
"""Makes the text of one object."""


@dataclass
class Kind:
    """The objects of one kind. Shape: ``objects`` by path below the kind; ``told`` are events in order."""

    kind: str
    version: str
    objects: dict[str, Text] = field(default_factory=dict)
    told: list[tuple[int, bytes]] = field(default_factory=list)


class ManyObjects(ThreadingHTTPServer):
    """Serves kinds by the plural in their path, such as ``pods``. Shape: ``pages`` counts pages of lists."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.kinds = kinds
        self.pages = 0
        self.version = 1
        self.changed = Condition()

    def put(self, plural: str, key: str, event: str, document: Mapping[str, Any]) -> None:
        """Store or remove an object, and tell those who watch."""
        with self.changed:
            self.version += 1
            text = json.dumps(_versioned(document, self.version)).encode()
            kind = self.kinds[plural]
            if event == "DELETED":
                kind.objects.pop(key, None)
            else:
                kind.objects[key] = lambda: text
            kind.told.append((self.version, b'{"type":"%s","object":%s}\n' % (event.encode(), text)))
            self.changed.notify_all()

    @contextmanager
    def serving(self) -> Iterator[str]:
        """Serve while the block runs; hand out the address. Watches end with the process."""
        thread = Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{self.server_address[1]}"
        finally:
            self.shutdown()
            thread.join()
            self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ManyObjects

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        plural, key = _place(url.path)
        asked = dict(parse_qsl(url.query))
        kind = self.server.kinds.get(plural)
        if kind is None or (key and key not in kind.objects):
            self._reply(b'{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}', 404)
        elif key:
            self._reply(kind.objects[key]())
        elif "watch" in asked:
            self._watch(kind, int(asked.get("resourceVersion") or 0))
        else:
            self._list(kind, int(asked.get("continue") or 0), int(asked.get("limit") or 0))

    def do_POST(self) -> None:
        """Create the object that is sent; with any query in the URL, report it as deleted."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        url = urlsplit(self.path)
        metadata = body["metadata"]
        key = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
        self.server.put(_place(url.path)[0], key, "DELETED" if url.query else "ADDED", body)
        self._reply(b"{}")

    def _list(self, kind: Kind, start: int, limit: int) -> None:
        self.server.pages += 1
        made = list(kind.objects.values())
        end = start + limit if limit else len(made)
        following = str(end) if end < len(made) else ""
        head = {
            "kind": f"{kind.kind}List",
            "apiVersion": kind.version,
            "metadata": {"resourceVersion": str(self.server.version), "continue": following},
        }
        items = b",".join(one() for one in made[start:end])
        self._reply(json.dumps(head).encode()[:-1] + b',"items":[' + items + b"]}")

    def _watch(self, kind: Kind, version: int) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in self._events(kind, version):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))

    def _events(self, kind: Kind, version: int) -> Iterator[bytes]:
        while True:
            with self.server.changed:
                self.server.changed.wait_for(partial(_after, kind, version))
                found = _after(kind, version)
            version = found[-1][0]
            yield from (text for _, text in found)

    def _reply(self, data: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _after(kind: Kind, version: int) -> list[tuple[int, bytes]]:
    return [one for one in kind.told if one[0] > version]


def _place(path: str) -> tuple[str, str]:
    """Return the plural of a path's kind, and namespace and name where it names an object."""
    parts = path.strip("/").split("/")[2 if path.startswith("/api/") else 3 :]
    if parts[:1] == ["namespaces"]:
        return parts[2], "/".join((parts[1], *parts[3:])) if parts[3:] else ""
    return parts[0] if parts else "", "/".join(parts[1:])


def _versioned(document: Mapping[str, Any], version: int) -> dict[str, Any]:
    return {**document, "metadata": {**document["metadata"], "resourceVersion": str(version)}}


def kinds_of(documents: Sequence[Mapping[str, Any]]) -> dict[str, Kind]:
    """Return the kinds that a page reads, with some objects. Those of nodes are added by ``add_nodes``."""
    resource = "resource.k8s.io/v1"
    found = {
        "nodes": Kind("Node", "v1"),
        "pods": Kind("Pod", "v1"),
        "resourceslices": Kind("ResourceSlice", resource),
        "deviceclasses": Kind("DeviceClass", resource),
        "resourceclaims": Kind("ResourceClaim", resource),
        "resourceclaimtemplates": Kind("ResourceClaimTemplate", resource),
    }
    by_kind = {one.kind: one for one in found.values()}
    for document in documents:
        metadata = document["metadata"]
        key = "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
        text = json.dumps(_versioned(document, 1)).encode()
        by_kind[document["kind"]].objects[key] = lambda text=text: text
    return found


def add_nodes(kinds: Mapping[str, Kind], objects: Sequence[Mapping[str, Any]], own: str, count: int) -> None:
    """Add nodes like one, each with its slices. Shape: ``own`` is the name that stands for each in them."""
    by_kind = {one.kind: one for one in kinds.values()}
    for document in objects:
        metadata = {"uid": f"{own}-{document['metadata']['name']}", **document["metadata"]}
        text = json.dumps(_versioned({**document, "metadata": metadata}, 1)).encode()
        for number in range(count):
            name = node_name(number)
            key = document["metadata"]["name"].replace(own, name)
            by_kind[document["kind"]].objects[key] = lambda text=text, name=name: text.replace(
                own.encode(), name.encode()
            )


def node_name(number: int) -> str:
    """Return the name of a node that ``add_nodes`` makes."""
    return f"node-{number:04d}"
