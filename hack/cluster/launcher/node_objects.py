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
OWNER, CONTROLLER = "tangram.dev/allocator", "controller"
_SLICES = "/apis/resource.k8s.io/v1/resourceslices"
_NODES = "/api/v1/nodes"
_CONNECTIONS = 4
_PART = 1000  # slices
_DEFAULT_MACHINE = "dgx-a100"


def documents(
    count: int, slices: Sequence[Mapping[str, Any]], *, is_owned: bool = False
) -> Iterator[tuple[str, Document]]:
    """Yield the path and the document of every object to create: a node, then its slices.

    Shape: the nodes are called object-0, object-1 ...; slices keep their order; ``is_owned`` where Tangram's
           controller allocates the devices, which then have its label and taint, as an agent would write.
    """
    if is_owned:
        slices = [_tainted(one) for one in slices]
    for number in range(count):
        name = f"object-{number}"
        yield _NODES, node(name, is_owned=is_owned)
        for position, original in enumerate(slices):
            yield _SLICES, slice_of(name, position, original)


def node(name: str, *, is_owned: bool = False) -> Document:
    """Return a node that says of itself that it is ready."""
    labels = {LABEL: "true", "kubernetes.io/hostname": name, **({OWNER: CONTROLLER} if is_owned else {})}
    room = {"cpu": "256", "memory": "2Ti", "pods": "1000"}
    ready = {"type": "Ready", "status": "True", "reason": "Simulated", "message": "exists as an object only"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": room, "allocatable": room, "conditions": [ready]},
    }


def _tainted(original: Mapping[str, Any]) -> Document:
    """Return a slice whose devices kube-scheduler leaves to the controller."""
    spec = original["spec"]
    taint = {"key": OWNER, "value": CONTROLLER, "effect": "NoSchedule"}
    devices = [{**one, "taints": [taint]} for one in spec.get("devices") or ()]
    return {**original, "spec": {**spec, **({"devices": devices} if devices else {})}}


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
    wanted = list(
        documents(settings.node_objects, _machine_slices(settings), is_owned=settings.owned_objects)
    )
    nodes, stored = ([one for one in wanted if one[0] == path] for path in (_NODES, _SLICES))
    for stage in (nodes, *_parts(stored)):
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            list(pool.map(_post_all, (stage[start::_CONNECTIONS] for start in range(_CONNECTIONS))))
        if len(wanted) > _PART:
            say(f"node objects: {stage[-1][1]['metadata']['name']} is stored")
    say(f"{len(nodes)} node objects with {len(stored)} slices")


def _parts(wanted: Sequence[tuple[str, Document]]) -> Iterator[Sequence[tuple[str, Document]]]:
    """Yield parts after which it is told how far the storing is."""
    for start in range(0, len(wanted), _PART):
        yield wanted[start : start + _PART]


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
    except OSError as error:  # the API server may be out of memory: a thousand nodes take it 17 GB
        raise LauncherError(f"cannot create node objects: the API server does not answer: {error}") from None
    finally:
        connection.close()
