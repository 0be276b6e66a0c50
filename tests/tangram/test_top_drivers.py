"""``tangram top`` of devices of several drivers, and of those that belong to no single node."""

from __future__ import annotations

import io
import re

import pytest
import yaml
from rich.console import Console

from scheduler_core.frontends.objects import pods_by_claim
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.state.cluster_state import ClusterState
from tangram.documents import read_documents
from tangram.objects import read_objects
from tangram.pictures.occupancy.cluster import occupancy_picture

THEIRS = "gpu.example.com"


def slice_of(name, *devices, attributes=None, **nodes):
    spec = {
        "driver": THEIRS,
        "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": one, "attributes": attributes or {}} for one in devices],
        **nodes,
    }
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": spec,
    }


def of_theirs(name, pool, device):
    result = {"request": "r", "driver": THEIRS, "pool": pool, "device": device}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team-a", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "theirs"}}]}},
        "status": {"allocation": {"devices": {"results": [result]}}},
    }


@pytest.fixture
def objects(tmp_path):
    """Return a file with some objects."""

    def written(*documents):
        file = tmp_path / "objects.yaml"
        file.write_text(yaml.safe_dump_all(documents))
        return file

    return written


def test_devices_of_other_drivers_are_counted_beside_ours_with_their_driver(tangram, objects):
    others = objects(slice_of("theirs", "a", "b", nodeName="a100x2"), of_theirs("job", "theirs", "b"))

    answer = tangram("top", "--node", "a100x2", "-f", others)

    assert answer.out.startswith("a100x2  drivers gpu.example.com, tangram.dev; 2 of 2 GPUs free")
    assert re.search(r"^device of gpu.example.com +1 of 2 +A$", answer.out, re.MULTILINE)
    assert re.search(r"^gpu-0 +free", answer.out, re.MULTILINE)


def test_gpus_of_two_drivers_on_one_node_are_told_apart(tangram, objects):
    gpu = {"type": {"string": "gpu"}, "uuid": {"string": "GPU-1"}}
    theirs = objects(slice_of("theirs", "gpu-0", attributes=gpu, nodeName="a100x2"))

    answer = tangram("top", "--node", "a100x2", "-f", theirs)

    assert re.search(r"^gpu-0 of gpu.example.com +free", answer.out, re.MULTILINE)
    assert re.search(r"^gpu-0 of tangram.dev +free", answer.out, re.MULTILINE)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_pool_of_no_single_node_says_where_it_can_be_used(width, objects):
    rack = {"key": "example.com/rack", "operator": "In", "values": ["r1"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [rack]}]}
    file = objects(slice_of("rack-1", "a", "b", nodeSelector=selector), of_theirs("job", "rack-1", "a"))
    documents = read_documents(str(file))
    view = OccupancyView(ClusterState.of(read_objects(documents).cluster()))
    console = Console(file=io.StringIO(), width=width, color_system=None)

    console.print(*occupancy_picture(view.cluster(pods_by_claim(documents))), sep="\n")

    text = console.file.getvalue()
    assert text.startswith("devices of no single node")
    assert max(map(len, text.splitlines())) <= width
    for words in ("device of gpu.example.com", "1 of 2", "rack-1", "nodes with", "example.com/rack=r1"):
        assert words in text


def test_only_the_drivers_that_are_asked_for_are_shown(tangram, objects):
    others = objects(slice_of("theirs", "a", nodeName="other"), of_theirs("job", "theirs", "a"))
    files = ("--node", "a100x2", "-f", others)

    answer = tangram("top", *files, "--only-driver", "tangram.dev")
    wrong = tangram("top", *files, "--only-driver", "dra.example.com")

    assert "gpu.example.com" not in answer.out
    assert answer.out.endswith("no claim holds a device\n")
    assert wrong.status == 2
    assert "publishes no device; there are: gpu.example.com, tangram.dev" in wrong.err
