"""A cluster for the page about troubles: an API server that lists made-up objects, and pods that wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import yaml
from claims_at_server import claim, device_class, node, pod
from claims_at_server.world import World
from scripted_api import Reply, Request, Script, serving, write_kubeconfig

from controller.run.coordinator import Patience
from pages.sessions import Shell

_KINDS: Final = {
    "compositeresourceslices": "CompositeResourceSlice",
    "deviceclasses": "DeviceClass",
    "nodes": "Node",
    "pods": "Pod",
    "resourceclaims": "ResourceClaim",
    "resourceclaimtemplates": "ResourceClaimTemplate",
    "resourceslices": "ResourceSlice",
}


@contextmanager
def pods_that_wait(shell: Shell) -> Iterator[None]:
    """Two nodes of two GPUs; ``infer`` has one GPU, ``train`` wants three on one node."""
    world = World(Patience(bind_s=1e9))
    for kind in ("gpu", "half"):
        world.server.put("DeviceClass", device_class(kind))
    world.add_nodes("node-a", "node-b")
    world.watch()
    world.pass_time(0)
    world.pass_time(3)
    for name, count in (("infer", 1), ("train", 3)):
        world.server.put("ResourceClaim", claim(name, "gpu", count))
        world.server.put("Pod", pod(name, name))
        world.settle()
    with listed(shell, world.server.objects):
        yield


@contextmanager
def listed(shell: Shell, objects: dict[str, dict[str, Any]]) -> Iterator[None]:
    """Serve these objects, by kind and name, to who has the kubeconfig of the shell."""

    def answer(request: Request) -> Reply:
        if request.path == "/version":
            return Reply({"major": "1", "minor": "37"})
        folder, _, last = request.path.rpartition("/")
        if last in _KINDS:
            version = folder.partition("/namespaces/")[0].removeprefix("/apis/").removeprefix("/api/")
            head = {
                "apiVersion": version,
                "kind": f"{_KINDS[last]}List",
                "metadata": {"resourceVersion": "1"},
            }
            return Reply({**head, "items": list(objects.get(_KINDS[last], {}).values())})
        kind = _KINDS.get(folder.rpartition("/")[2], "")
        found = objects.get(kind, {}).get(last)
        missing = {
            "kind": "Status",
            "status": "Failure",
            "reason": "NotFound",
            "code": 404,
            "message": "not found",
        }
        return Reply(missing, 404) if found is None else Reply(found)

    for server in serving(Script()):
        server.answers(answer)
        host, port = server.server_address[:2]
        path = write_kubeconfig(shell.folder / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"})
        shell.variables["KUBECONFIG"] = str(path)
        yield


@contextmanager
def node_in_use(shell: Shell) -> Iterator[None]:
    """A node of two A100s without a controller: ``infer-7`` has half of one, ``train`` wants both."""
    slices = list(yaml.safe_load_all(shell.run("tangram show --node a100x2 --as v1").stdout))
    classes = list(yaml.safe_load_all(shell.run("cat deploy/examples/device-classes.yaml").stdout))
    wanted = {"name": "gpus", "exactly": {"deviceClassName": "gpu.tangram.dev", "count": 2}}
    had = {"name": "gpu", "exactly": {"deviceClassName": "mig.tangram.dev"}}
    result = {
        "request": "gpu",
        "driver": "tangram.dev",
        "pool": "a100x2",
        "device": "gpu-0-mig-3g-20gb-4-7",
    }
    claims = [
        _claim("infer-7", had, {"allocation": {"devices": {"results": [result]}}}),
        _claim("train", wanted, {}),
    ]
    found = {
        "ResourceSlice": slices,
        "DeviceClass": classes,
        "ResourceClaim": claims,
        "Node": [node("a100x2")],
    }
    named = {kind: {one["metadata"]["name"]: one for one in each} for kind, each in found.items()}
    with listed(shell, named):
        yield


def _claim(name: str, request: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    metadata = {"namespace": "default", "name": name, "uid": f"uid-{name}", "resourceVersion": "1"}
    head = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata}
    return {**head, "spec": {"devices": {"requests": [request]}}, "status": status}
