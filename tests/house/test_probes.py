"""What a kubelet asks of a pod is answered by that pod, although two of them share the node's network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from agent.options import parser
from agent.publishing.metrics import Metrics
from daemon.status_server import answers_of, serving, serving_probes

ROOT = Path(__file__).parents[2]
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


@pytest.fixture(scope="module")
def pod():
    text = (ROOT / "deploy/manifests/base/daemonset.yaml").read_text()
    return yaml.safe_load(text)["spec"]["template"]["spec"]


@pytest.fixture(scope="module")
def container(pod):
    (found,) = [found for found in pod["containers"] if found["name"] == "agent"]
    return found


@pytest.fixture
def probed_socket(container):
    return parser().parse_args(container["args"]).probe_socket


def test_no_probe_goes_to_an_address_that_another_pod_on_the_node_may_listen_on(pod):
    assert pod["hostNetwork"]

    for container in pod["containers"]:
        asked = [container[probe] for probe in PROBES if probe in container]
        assert asked
        assert all("exec" in probe for probe in asked)


def test_the_socket_lies_in_a_folder_that_only_this_pod_has(pod, container, probed_socket):
    (mount,) = [one for one in container["volumeMounts"] if one["mountPath"] == str(probed_socket.parent)]
    (volume,) = [one for one in pod["volumes"] if one["name"] == mount["name"]]

    assert volume == {"name": mount["name"], "emptyDir": {}}


def test_where_two_agents_share_an_address_each_one_is_probed_itself(container, probed_socket, tmp_path):
    def status(probe, agent):
        asked = [word.replace(str(probed_socket), str(tmp_path / agent)) for word in probe["exec"]["command"]]
        assert asked.pop(0) == "python3"
        return subprocess.run([sys.executable, *asked], cwd=ROOT, check=False, timeout=60).returncode

    well = answers_of(Metrics(), lambda: 0.0, lambda: True)
    sick = answers_of(Metrics(), lambda: 1000.0, lambda: False)

    with (
        serving(("127.0.0.1", 0), well) as port,
        serving(("127.0.0.1", port), sick),
        serving_probes(tmp_path / "well", well),
        serving_probes(tmp_path / "sick", sick),
    ):
        found = {agent: [status(container[probe], agent) for probe in PROBES] for agent in ("well", "sick")}

    assert found == {"well": [0, 0, 0], "sick": [1, 1, 1]}
