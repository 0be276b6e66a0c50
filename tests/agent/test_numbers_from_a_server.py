"""Agent and plugin ask the API server for the numbers of a lost file, and make none up while it is away."""

from __future__ import annotations

import pytest
from scripted_api import Reply, Script, serving, status, write_kubeconfig

from agent.api import Cluster
from agent.assembly import numbering_of
from agent.inventory.numbers.kept import NumbersUnknown
from agent.inventory.numbers.numbering import GpusSeen
from agent.options import Options as AgentOptions
from plugin.api import ClusterClaims
from plugin.options import Options

DRIVER, NODE = "tangram.dev", "node-1"
A, B = "0000:01:00.0", "0000:02:00.0"
SEEN = GpusSeen(frozenset({A, B}))


@pytest.fixture
def server():
    yield from serving(Script())


@pytest.fixture
def kubeconfig(server, tmp_path):
    return write_kubeconfig(
        tmp_path / "kubeconfig", f"http://127.0.0.1:{server.server_port}", {}, {"token": "t"}
    )


@pytest.fixture
def cluster(kubeconfig):
    found = Cluster.connect(kubeconfig, None)
    yield found
    found.close()


@pytest.fixture
def claims(kubeconfig):
    found = ClusterClaims.connect(kubeconfig, Options(driver_name=DRIVER, node_name=NODE))
    yield found
    found.close()


def listing(**addresses):
    devices = [
        {"name": name.replace("_", "-"), "attributes": {"resource.kubernetes.io/pciBusID": {"string": bdf}}}
        for name, bdf in addresses.items()
    ]
    metadata = {"name": "s", "uid": "u", "resourceVersion": "1"}
    spec = {"pool": {"name": NODE, "generation": 1}, "driver": DRIVER, "devices": devices}
    return Reply({"metadata": {"resourceVersion": "1"}, "items": [{"metadata": metadata, "spec": spec}]})


def numbering(cluster, tmp_path):
    options = AgentOptions(driver_name=DRIVER, node_name=NODE, kubelet_dir=tmp_path / "kubelet")
    return numbering_of(options, cluster, cluster.events_of(NODE))


def test_a_lost_file_is_made_from_the_slices_of_the_node_and_driver(server, cluster, tmp_path):
    server.answers(listing(gpu_0=B, gpu_1=A))

    assert numbering(cluster, tmp_path)(SEEN) == {B: 0, A: 1}
    assert server.requests[0].query["fieldSelector"] == "spec.driver=tangram.dev,spec.nodeName=node-1"
    assert (tmp_path / "kubelet/plugins/tangram.dev/gpu-numbers/node-1.json").is_file()

    assert numbering(cluster, tmp_path)(SEEN) == {B: 0, A: 1}
    assert len(server.said) == 1, "a file that is there says it all"


def test_while_the_server_refuses_the_agent_makes_no_numbers_up(server, cluster, tmp_path):
    server.answers(Reply(status(403, "Forbidden"), 403))

    with pytest.raises(NumbersUnknown, match="slices of node node-1"):
        numbering(cluster, tmp_path)(SEEN)


def test_the_plugin_reads_the_same_slices(server, claims):
    server.answers(listing(gpu_0=B))

    (found,) = claims.published()

    assert [one["name"] for one in found["spec"]["devices"]] == ["gpu-0"]


def test_while_the_server_refuses_the_plugin_knows_no_numbers(server, claims):
    server.answers(Reply(status(403, "Forbidden"), 403))

    with pytest.raises(NumbersUnknown, match="slices of node node-1"):
        claims.published()
