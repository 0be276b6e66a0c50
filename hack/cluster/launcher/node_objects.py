"""Nodes that exist only in the API server, each with slices of a simulated machine: a load for schedulers.

In go a count and what ``tangram show`` prints of one machine; out come documents, stored over a few
connections at once. No pod runs on such a node; one that is bound to it has been placed.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from launcher.errors import LauncherError
from launcher.settings import TOKENS, Settings

Document = dict[str, Any]
LABEL = "tangram.dev/node-object"
_SLICES = "/apis/resource.k8s.io/v1/resourceslices"
_NODES = "/api/v1/nodes"
_CONNECTIONS = 4
_DEFAULT_MACHINE = "dgx-a100"


def documents(count: int, slices: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Document]]:
    """Yield the path and the document of every object to create: a node, then its slices.

    Shape: the nodes are called object-0, object-1 ...; slices keep their order.
    """
    for number in range(count):
        name = f"object-{number}"
        yield _NODES, node(name)
        for position, original in enumerate(slices):
            yield _SLICES, slice_of(name, position, original)


def node(name: str) -> Document:
    """Return a node that says of itself that it is ready."""
    room = {"cpu": "256", "memory": "2Ti", "pods": "1000"}
    ready = {"type": "Ready", "status": "True", "reason": "Simulated", "message": "exists as an object only"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {LABEL: "true", "kubernetes.io/hostname": name}},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def slice_of(name: str, position: int, original: Mapping[str, Any]) -> Document:
    """Return a machine's slice as the one of this node."""
    spec = original["spec"]
    return {
        **original,
        "metadata": {"name": f"{name}-{position}"},
        "spec": {**spec, "nodeName": name, "pool": {**spec["pool"], "name": name}},
    }


def create_node_objects(settings: Settings, say: Callable[[str], None]) -> None:
    """Store the node objects that the settings ask for.

    Raises: LauncherError with the server's words.
    """
    wanted = list(documents(settings.node_objects, _machine_slices(settings)))
    nodes, slices = ([one for one in wanted if one[0] == path] for path in (_NODES, _SLICES))
    for stage in (nodes, slices):
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(_post_all, (stage[start::_CONNECTIONS] for start in range(_CONNECTIONS))))
    say(f"{len(nodes)} node objects with {len(slices)} slices")


def _machine_slices(settings: Settings) -> list[Document]:
    form = "v1-1.34" if settings.version == "1.34" else "v1"
    machine = str(settings.machine or _DEFAULT_MACHINE)
    tangram = Path(sys.executable).with_name("tangram")
    answer = subprocess.run(
        [str(tangram), "show", "--node", machine, "--as", form, "--json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if answer.returncode != 0:
        raise LauncherError(f"cannot describe machine {machine}: {answer.stderr.strip()}")
    slices: list[Document] = json.loads(answer.stdout)
    return slices


def _post_all(wanted: Sequence[tuple[str, Document]]) -> None:
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", 443, context=context, timeout=30)
    headers = {"Authorization": f"Bearer {TOKENS['admin']}", "Content-Type": "application/json"}
    try:
        for path, document in wanted:
            connection.request("POST", path, json.dumps(document), headers)
            response = connection.getresponse()
            text = response.read().decode()
            if response.status not in (200, 201):
                name = document["metadata"]["name"]
                raise LauncherError(f"cannot create {document['kind']} {name}: {response.status} {text}")
    finally:
        connection.close()
