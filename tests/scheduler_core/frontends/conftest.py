"""Nodes as Koordinator reports them, and pods on them, in a line each."""

import pytest

from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import place_pod
from scheduler_core.frontends.pods.pod_request import amounts_of, ask_of
from scheduler_core.frontends.pods.reported import ReportedDevice, ReportedUse, ReportedVf, held, pool_of
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState

WHOLE_GPU = {
    "koordinator.sh/gpu-core": 100,
    "koordinator.sh/gpu-memory-ratio": 100,
    "koordinator.sh/gpu-memory": 80 * 2**30,
}


class Machine:
    """One node. GPUs and NICs are given as ``pcie:numa`` texts, their minors count from 0."""

    def __init__(self, gpus="", nics="", *, vfs=0, table=None, policy=None):
        self.devices = [
            *(self._device("gpu", n, text, WHOLE_GPU, 0) for n, text in enumerate(gpus.split())),
            *(
                self._device("rdma", n, text, {"koordinator.sh/rdma": 100}, vfs)
                for n, text in enumerate(nics.split())
            ),
        ]
        self.uses = []
        minors = [one.minor for one in self.devices if one.kind == "gpu"]
        parsed = table_of("Node n", table, minors) if table is not None else None
        self.table = NodeTable(table=parsed, is_honored=policy == "Honor")

    @staticmethod
    def _device(kind, minor, text, total, vfs):
        pcie, numa = text.split(":")
        return ReportedDevice(
            kind=kind,
            minor=minor,
            pcie=pcie,
            numa=int(numa),
            total=total,
            vfs=tuple(ReportedVf(bus_id=f"0000:{minor:02x}:00.{n + 1}") for n in range(vfs)),
        )

    def use(self, kind, *minors, exclusive=None, vfs=(), **amounts):
        named = {f"koordinator.sh/{key.replace('_', '-')}": value for key, value in amounts.items()} or None
        for minor in minors:
            self.uses.append(
                ReportedUse(kind=kind, minor=minor, amounts=named, vfs=tuple(vfs), exclusive=exclusive)
            )
        return self

    def place(self, requests, *, joint=None, hint=None, spec=None):
        marks = {"device-joint-allocate": joint, "device-allocate-hint": hint, "gpu-partition-spec": spec}
        given = {name: value for name, value in marks.items() if value is not None}
        ask = ask_of("Pod default/test", amounts_of("Pod default/test", requests), given)
        cluster = Cluster(
            pools=(pool_of("n", self.devices),), classes={}, allocated=held("n", self.uses, self.devices)
        )
        found = place_pod(ask, ClusterState.of(cluster), Node("n"), self.table)
        if not isinstance(found, PlacedPod):
            return found
        return {
            kind: [node_device.number for node_device in node_devices]
            for kind, node_devices in found.node_devices.items()
        }


@pytest.fixture(scope="session")
def machine():
    return Machine
