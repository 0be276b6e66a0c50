"""The example of a pool of GPUs on two nodes, what these publish and claims hold, and a publisher of it."""

from pathlib import Path

import yaml
from pool_server import InUse, PoolServer, publisher_of

from controller.pools.own_gpus import SETTLE_S
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.device import DeviceId
from scheduler_core.model.ownership import NOBODY, OWNER

ROOT = Path(__file__).parents[3]
OWN = "tangram.dev"
POOL = "multi-node/gpus"
NODES = ("node-1", "node-2")


def example(name="gpus", **metadata):
    found = yaml.safe_load((ROOT / "deploy/examples/multi-node/gpus.yaml").read_text())
    found["metadata"] |= {"name": name, "uid": f"uid of {name}", "generation": 1, **metadata}
    return found


def gpu(minor, name=None, key="minor"):
    attributes = {key: {"int": minor}, "uuid" if key == "minor" else "parentUUID": {"string": f"GPU-{minor}"}}
    return {"name": name or f"gpu-{minor}", "attributes": attributes}


def slice_of(node, *devices, count=1, generation=1):
    pool = {"name": node, "generation": generation, "resourceSliceCount": count}
    return {"spec": {"driver": OWN, "nodeName": node, "pool": pool, "devices": list(devices)}}


def holding(pool, *devices, name="holder", admin_access=False):
    results = (
        AllocatedDevice(request="r", device=DeviceId(OWN, pool, one), admin_access=admin_access)
        for one in devices
    )
    return AllocatedClaim(ref=ClaimRef("team", name), results=tuple(results))


class Site:
    def __init__(self):
        self.now = 0.0
        self.server, self.in_use = PoolServer(), InUse()
        self.publisher = publisher_of(self.server, OWN, self.in_use, lambda: self.now)
        self.objects = {}
        self.withhold()

    def put(self, document):
        self.objects[document["metadata"]["name"]] = document

    def withhold(self, *left):
        """Have both nodes publish nothing but some devices."""
        self.in_use.nodes = {node: (slice_of(node, *left),) for node in NODES}

    def turn(self, after_s=0.0):
        self.now += after_s
        known = []
        for name, one in self.objects.items():
            finalizers = self.server.finalizers.get(name, ())
            metadata = {**one["metadata"], "finalizers": list(finalizers)}
            known.append({**one, "metadata": metadata, "status": self.server.statuses.get(name, {})})
        return self.publisher.turn(known, "now")

    def opened(self):
        """Publish the example until its devices can be allocated."""
        self.put(example())
        self.turn()
        self.turn(SETTLE_S)
        assert self.is_open()

    def taints(self):
        devices = [one for slice_ in self.server.documents() for one in slice_["spec"].get("devices") or ()]
        return [[(taint["key"], taint["value"]) for taint in one.get("taints", ())] for one in devices]

    def is_closed(self):
        return bool(self.taints()) and all(one == [(OWNER, NOBODY)] for one in self.taints())

    def is_open(self):
        return bool(self.taints()) and not any(self.taints())

    def delete(self, name="gpus"):
        self.objects[name]["metadata"]["deletionTimestamp"] = "now"

    def told(self, name="gpus"):
        (condition,) = self.server.statuses[name]["conditions"]
        return condition["message"]
