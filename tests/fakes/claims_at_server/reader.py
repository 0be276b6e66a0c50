"""Commands that read the objects of a made-up server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from listed_reader import ListedReader

import tangram.api
from claims_at_server import Server, claim, device_class, pod
from claims_at_server.world import World
from controller.run.coordinator import Patience
from tangram.errors import BadInput


class Reader(ListedReader):
    """The objects of a made-up server, as a command reads them. Shape: a context is its namespace."""

    def __init__(self, server: Server, context: str | None) -> None:
        self.server = server
        self.context = context

    def usual_namespace(self) -> str:
        return self.context or "default"

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        found = tuple(_of(kind, one) for one in self.server.objects.get(kind, {}).values())
        if fields:
            key, _, value = fields.partition("=")
            part, _, name = key.partition(".")
            assert (part, name) in (("spec", "driver"), ("metadata", "namespace"))
            found = tuple(one for one in found if one[part][name] == value)
        return found

    def get(self, kind: str, name: str, namespace: str) -> Mapping[str, Any]:
        found = self.server.objects.get(kind, {}).get(name)
        if found is None or found["metadata"]["namespace"] != namespace:
            raise BadInput(f"{kind} {namespace}/{name} not found")
        return _of(kind, found)


def _of(kind: str, stored: Mapping[str, Any]) -> Mapping[str, Any]:
    others = {"Node": "v1", "Pod": "v1", "ResourceClass": "tangram.dev/v1alpha1"}
    return {"apiVersion": others.get(kind, "resource.k8s.io/v1"), "kind": kind, **stored}


def read_world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Return two nodes of two GPUs, which commands read from now on."""
    made = World(Patience(bind_s=1e9))
    for kind in ("gpu", "half"):
        made.server.put("DeviceClass", device_class(kind))
    made.add_nodes("node-a", "node-b")
    made.watch()
    made.pass_time(0)
    made.pass_time(3)
    monkeypatch.setattr(tangram.api, "connect", lambda file, context: Reader(made.server, context))
    return made


def ask(world: World, name: str, kind: str = "gpu", count: int = 1, **options: Any) -> None:
    """Make a claim and a pod of its name."""
    world.server.put("ResourceClaim", claim(name, kind, count))
    world.server.put("Pod", pod(name, name, **options))
