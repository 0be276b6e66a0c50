"""A stream of pods for GPUs with NICs gets from the controller what the core gives in the same order."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bare_node import install_classes
from cluster_support import Document, eventually
from fleet import Fleet, controller, machine_slices
from launcher.client import ClusterControl

from kube_api import PODS, KubeApi
from scheduler_core.codec import v1
from scheduler_core.frontends.admission.changes import admission_of
from scheduler_core.frontends.pods.placed_pod import PlacedPod
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.frontends.pods.written_claim import claim_document, held_claim, requests_of_amounts
from scheduler_core.model.nodes import Node
from scheduler_core.model.ownership import CLAIM
from scheduler_core.state.assignments import holder_of
from scheduler_core.state.cluster_state import ClusterState

pytestmark = pytest.mark.layout
JOINT = "scheduling.koordinator.sh/device-joint-allocate"
PODS_OF_STREAM = 200
SEED = 15


class Log:
    """What the controller says of each decision, read as it is written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def next(self, what: str, **wanted: str) -> Document:
        """Wait for a line with these values after the last one that was returned, and return it."""
        return eventually(lambda: self._find(wanted), what)

    def _find(self, wanted: dict[str, str]) -> dict[str, Any]:
        with self.path.open() as lines:
            lines.seek(self._read)
            while (line := lines.readline()).endswith("\n"):
                found: dict[str, Any] = json.loads(line)
                if wanted.items() <= found.items():
                    self._read = lines.tell()
                    return found
        return {}


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "decisions")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """The slices of a DGX A100: eight GPUs, eight NICs with VFs."""
    return machine_slices("dgx-a100", tmp_path_factory.mktemp("machine"))


@pytest.fixture
def fleet(
    api: KubeApi, control: ClusterControl, namespace: str, kubeconfig: Path, tmp_path: Path, log: Log
) -> Iterator[Fleet]:
    """No node yet; the controller leads. Control is needed: it would disturb the controller of a user."""
    assert control
    if int(api.server_version().split(".")[1]) < 36:
        pytest.skip("needs the feature gate DRADeviceTaints, on from Kubernetes 1.36")
    install_classes(api, "deploy/examples/device-classes.yaml")
    found = Fleet(api, namespace)
    with controller(api, kubeconfig, tmp_path, f"--decisions={log.path}"):
        yield found
        found.close()


class Core:
    """What the core gives to the same pods in the same order, on a state of its own."""

    def __init__(self, slices: list[Document], node: str) -> None:
        self.state = ClusterState()
        named = [{**one, "spec": {**one["spec"], "nodeName": node}} for one in slices]
        for one in named:
            one["spec"]["pool"] = {**one["spec"]["pool"], "name": node}
        for pool in v1.pools(v1.decode_slice(one) for one in named):
            self.state.set_pool(pool)
        self.placer, self.node = PodPlacer(self.state), Node(node)
        self.held: dict[str, Document] = {}

    def gives(self, pod: Document) -> list[tuple[str, str]]:
        """Return the devices of a pod, sorted, none where it does not fit; it holds them from now on."""
        name = pod["metadata"]["name"]
        resources = pod["spec"]["containers"][0]["resources"]["requests"]
        amounts = {key: int(amount) for key, amount in resources.items() if key != "cpu"}
        joint = json.loads(pod["metadata"]["annotations"][JOINT])
        ask = ask_of(f"Pod {name}", amounts, {"device-joint-allocate": joint})
        found = self.placer.place(ask, self.node)
        if not isinstance(found, PlacedPod):
            return []
        requests = requests_of_amounts(found, lambda: "")
        metadata = {"namespace": "core", "name": name, "uid": name}
        document = claim_document(requests, node=self.node.name, ask=ask, metadata=metadata)
        claim = held_claim(document)
        assert claim is not None
        self.state.hold(claim)
        self.held[name] = document
        return sorted((self.node.name, str(one.device.device)) for one in claim.results)

    def ends(self, name: str) -> None:
        """Take back what a pod holds."""
        claim = held_claim(self.held.pop(name))
        assert claim is not None
        self.state.release(holder_of(claim))


def joint_pod(fleet: Fleet, random: Random, number: int) -> Document:
    """Return a pod for one to four GPUs with NICs, half of them for NICs below the same switches."""
    pod = fleet.pod(f"p{number}")
    scope = {"requiredScope": "SamePCIe"} if random.random() < 0.5 else {}
    pod["metadata"]["annotations"] = {JOINT: json.dumps({"deviceTypes": ["gpu", "rdma"], **scope})}
    amounts = {"nvidia.com/gpu": str(random.randint(1, 4)), "koordinator.sh/rdma": "1"}
    pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "10m", **amounts}, "limits": amounts}
    return pod


def admitted(pod: Document, namespace: str) -> Document:
    """Return a pod as the webhook makes it."""
    found: Document = json.loads(json.dumps(pod))
    for path, value in admission_of(found, namespace, found["metadata"]["name"]).fields.items():
        *way, last = path.split("/")[1:]
        at = found
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]  # type: ignore[index]
        at[last] = value
    return found


def decided(fleet: Fleet, log: Log, stored: Document) -> list[tuple[str, str]]:
    """Create a pod, and return its devices, sorted, none where it does not fit."""
    fleet.api.create(PODS, stored, fleet.namespace)
    name = stored["metadata"]["name"]
    line = log.next(f"{name} is decided", pod=f"{fleet.namespace}/{name}")
    given = [one for results in line.get("devices", {}).values() for one in results]
    devices = sorted((one["pool"], one["device"]) for one in given)
    if devices:
        claim = stored["metadata"]["annotations"][CLAIM]
        eventually(lambda: sorted(fleet.devices_of(claim)) == devices, f"{name} has its devices")
    return devices


def end(fleet: Fleet, log: Log, name: str, claim: str) -> None:
    """Delete a pod, and wait until the controller knows that its devices are free."""
    fleet.api.delete(PODS, name, fleet.namespace)
    log.next(f"the devices of {name} are free", result="Freed", claim=f"{fleet.namespace}/{claim}")


def wait_until_settled(fleet: Fleet, log: Log, pod: Document) -> None:
    """Wait until the controller gives devices of a node that it has just got; the pod is gone then."""
    stored = admitted(pod, fleet.namespace)
    name, claim = stored["metadata"]["name"], stored["metadata"]["annotations"][CLAIM]
    fleet.api.create(PODS, stored, fleet.namespace)
    log.next("the node has settled", pod=f"{fleet.namespace}/{name}", result="Placed")
    eventually(lambda: fleet.devices_of(claim), f"{name} has devices")
    end(fleet, log, name, claim)


def test_a_stream_of_pods_for_gpus_with_nics_gets_what_the_core_gives_in_the_same_order(
    fleet: Fleet, log: Log, machine: list[Document]
) -> None:
    core = Core(machine, fleet.add(machine))
    random = Random(SEED)
    running: dict[str, str] = {}
    placed = 0
    wait_until_settled(fleet, log, joint_pod(fleet, random, PODS_OF_STREAM))
    for number in range(PODS_OF_STREAM):
        while running and random.random() < 0.4:
            name = random.choice(list(running))
            end(fleet, log, name, running.pop(name))
            core.ends(name)
        pod = joint_pod(fleet, random, number)
        stored = admitted(pod, fleet.namespace)
        given = decided(fleet, log, stored)

        assert given == core.gives(pod), (pod["metadata"], running)
        if given:
            running[stored["metadata"]["name"]] = stored["metadata"]["annotations"][CLAIM]
            placed += 1
        else:
            fleet.api.delete(PODS, stored["metadata"]["name"], fleet.namespace)
    assert 0.2 * PODS_OF_STREAM < placed < 0.9 * PODS_OF_STREAM  # both answers were compared
