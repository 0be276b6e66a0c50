"""Nodes that publish composite slices alone are known to the commands as they are to the controller."""

from __future__ import annotations

import json

import pytest
from claims_at_server import DRIVER, TAINT, claim, device_class, machine, node, pod

from scheduler_core.codec.documents import Document
from tangram.cluster_objects import cluster_objects
from tangram.controlled.reading import read_controlled
from tangram.errors import BadInput
from tangram.page.file_cluster import FileCluster
from tangram.page.reading import read_seen

KIND = "CompositeResourceSlice"


def composite(name, *taints, node="node-a"):
    """Return a slice with one GPU."""
    body = {"attributes": {"type": {"string": "gpu"}}, **({"taints": list(taints)} if taints else {})}
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool}
    return {
        "kind": KIND,
        "metadata": {"name": name},
        "spec": {**spec, "devices": [{"name": "only", "composite": body}]},
    }


def cluster(*slices):
    waiting = [("ResourceClaim", claim("c")), ("Pod", {**pod("p", "c"), "status": {"phase": "Pending"}})]
    found = [("Node", node("node-a")), ("DeviceClass", device_class("gpu")), *waiting]
    found += [(one.get("kind", "ResourceSlice"), one) for one in slices]
    return FileCluster(Document(str(place), {**one, "kind": kind}) for place, (kind, one) in enumerate(found))


def devices(seen):
    return [(pool.id.name, device.name) for pool in seen.devices.pools() for device in pool.devices]


def test_the_page_and_the_reasons_of_pods_know_their_devices():
    found = cluster(composite("s", TAINT))

    assert devices(read_seen(found, DRIVER)) == [("node-a", "only")]
    coordinator = read_controlled(found, DRIVER, 0.0)
    assert devices(coordinator.seen) == [("node-a", "only")]
    assert coordinator.decide().plan is not None


def test_those_of_a_node_with_v1_slices_or_without_the_mark_are_copies():
    copies = [composite("s"), composite("t", TAINT, node="node-b"), *machine("node-b", gpus=1)]
    found = cluster(*copies)

    names = {name for _, name in devices(read_seen(found, DRIVER))}
    objects = cluster_objects(found)

    assert names == {"gpu-0", "half-0-0", "half-0-1"}
    assert {device.name for pool in objects.pools() for device in pool.devices} == names


def test_questions_about_claims_know_them_too():
    objects = cluster_objects(cluster(composite("s", TAINT), composite("bad", TAINT, node="Bad Node")))

    assert [device.name for pool in objects.pools() for device in pool.devices] == ["only"]


def test_without_the_right_to_read_them_the_others_are_read(capsys):
    class Forbidding(FileCluster):
        def read(self, kind, reading, fields=""):
            if kind == KIND:
                raise BadInput("compositeresourceslices is forbidden")
            return super().read(kind, reading, fields)

    slices = [{"kind": "ResourceSlice", **one} for one in machine("node-b")]
    slices.append({"kind": "Node", **node("node-a")})
    found = Forbidding(Document(str(place), one) for place, one in enumerate(slices))

    assert devices(read_seen(found, DRIVER)) != []
    assert cluster_objects(found).pools() != ()
    assert capsys.readouterr().err.count("left out: compositeresourceslices is forbidden") == 2


@pytest.mark.parametrize("taints", [(), (TAINT,)])
def test_a_report_of_files_has_them_only_with_the_mark(tangram, written, taints):
    objects = [{"apiVersion": "v1", "kind": "Node", **node("node-a")}, composite("s", *taints)]
    given = written("objects.json", json.dumps({"kind": "List", "items": objects}))

    answer = tangram("report", "-f", given, "--json")

    assert answer.status == 0, answer.err
    assert ('"only"' in answer.out) is bool(taints)
