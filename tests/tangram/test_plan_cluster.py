"""What ``tangram plan --cluster`` reads of an API server, also on nodes of the controller."""

from __future__ import annotations

from argparse import Namespace
from types import SimpleNamespace

import yaml
from listed_reader import ListedReader

from scheduler_core.engine.engine import Engine
from scheduler_core.planning.kinds import kinds_of
from scheduler_core.planning.plan import Where, room_by_kind
from scheduler_core.state.cluster_state import ClusterState
from tangram.planning.reading import KEYS, read_known
from tangram.policies import POLICIES

OPTIONS = Namespace(
    cluster=True, kubeconfig=None, context=None, files=None, add=[], driver_name=None, node_name=None
)


class Server(ListedReader):
    """An API server with the objects of a dictionary."""

    def __init__(self, objects):
        self.objects = objects

    def list(self, kind, fields=""):
        assert not fields
        return tuple(self.objects.get(kind, ()))


def read(objects):
    return read_known(OPTIONS, SimpleNamespace(connect=lambda *_: Server(objects), machines=None))


def test_devices_of_the_controllers_nodes_are_offered_and_held_ones_are_not(tangram, shipped):
    slices = list(yaml.safe_load_all(tangram("show", "--machine", shipped("a100x2"), "--as", "v1").out))
    for one in slices:
        for device in one["spec"].get("devices", ()):
            device["taints"] = [
                {"key": "tangram.dev/allocator", "value": "controller", "effect": "NoSchedule"}
            ]
    result = {"request": "g", "driver": "tangram.dev", "pool": "a100x2", "device": "gpu-0"}
    asked = {"name": "g", "exactly": {"deviceClassName": "gpu.tangram.dev"}}
    held = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"namespace": "team-a", "name": "train"},
        "spec": {"devices": {"requests": [asked]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a100x2"}}

    known = read({"ResourceSlice": slices, "Node": [node], "ResourceClaim": [held]})

    where = Where(nodes=known.nodes, kinds=kinds_of(known.cluster.pools, KEYS))
    rooms = room_by_kind(Engine(ClusterState.of(known.cluster), POLICIES["best-fit"]), where)
    assert {one.kind.name: one.room.count for one in rooms}["gpu"] == 1
    assert [str(ref) for ref in known.specs] == ["team-a/train"]
    assert "gpu.tangram.dev" in known.cluster.classes
