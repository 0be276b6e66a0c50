"""kube-scheduler and the controller on the same nodes at once: no device is ever given twice.

``TANGRAM_RACE_CLAIMS`` says how many claims there are: 240 unless told.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cluster_support import eventually
from fleet import Fleet, blind_scheduler, controller, plain_slice
from launcher.client import ClusterControl
from story import DRIVER

from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, KubeApi
from scheduler_core.model.ownership import GATE

CLAIMS = int(os.environ.get("TANGRAM_RACE_CLAIMS", "240"))
A_NODE = 60  # devices; a slice has at most 64 that have taints
LIMIT_S = 60 + CLAIMS / 4
CONNECTIONS = 4
ROUNDS = 8  # until both writers take the same device by chance
pytestmark = [pytest.mark.layout, pytest.mark.timeout(180 + 4 * LIMIT_S)]


@pytest.fixture
def fleet(api: KubeApi, control: ClusterControl, namespace: str) -> Iterator[Fleet]:
    """As many devices as there are claims, so that the last ones must find the last ones."""
    assert control  # a controller of its own would disturb a user's
    if int(api.server_version().split(".")[1]) < 36:
        pytest.skip("needs the feature gate DRADeviceTaints, on from Kubernetes 1.36")
    found = Fleet(api, namespace)
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "plain"'
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    api.create(DEVICE_CLASSES, {"metadata": {"name": found.name}, "spec": spec})
    for _ in range(-(-CLAIMS // A_NODE)):
        found.add([plain_slice(A_NODE)])
    yield found
    found.close()
    api.delete(DEVICE_CLASSES, found.name)


def ask(fleet: Fleet, number: int, **spec_of_pod: object) -> None:
    """Make a claim and its pod: every second one has the gate, the others both allocators see at once."""
    name = f"c{number}"
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": fleet.name}}]}}
    fleet.api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, fleet.namespace)
    gates = [{"name": GATE}] if number % 2 else []
    fleet.api.create(PODS, fleet.pod(name, name, schedulingGates=gates, **spec_of_pod), fleet.namespace)


def ask_all(fleet: Fleet, count: int = CLAIMS, **spec_of_pod: object) -> None:
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(lambda number: ask(fleet, number, **spec_of_pod), range(count)))


def wait_until_bound(fleet: Fleet) -> None:
    """Wait for one pod after the other: to list thousands of them again and again would take too long."""
    end = time.monotonic() + LIMIT_S
    for number in range(CLAIMS):
        name, left_s = f"c{number}", end - time.monotonic()
        eventually(lambda name=name: fleet.node_of(name), f"pod {name} of {CLAIMS} is bound", left_s)


def test_on_nodes_of_the_controller_no_device_is_given_twice_and_every_pod_is_bound(
    fleet: Fleet, kubeconfig: Path, tmp_path: Path
) -> None:
    with controller(fleet.api, kubeconfig, tmp_path):
        ask_all(fleet)
        wait_until_bound(fleet)

    assert fleet.doubles() == []


def end_round(fleet: Fleet) -> None:
    """Delete the pods and claims of a round, so that all devices are free."""
    for number in range(A_NODE):
        fleet.api.delete(PODS, f"c{number}", fleet.namespace)
        fleet.api.delete(RESOURCE_CLAIMS, f"c{number}", fleet.namespace)
    eventually(
        lambda: not fleet.api.list(RESOURCE_CLAIMS, fleet.namespace).items, "no claim is left", LIMIT_S
    )


def doubles_of_a_round(fleet: Fleet) -> list[tuple[str, str]]:
    """Ask for all devices of one node; return which were given twice, none once every pod is bound.

    On one node both writers take the first free device; on several they would begin at different ones.
    """
    ask_all(fleet, A_NODE, nodeSelector={"kubernetes.io/hostname": fleet.nodes[0]})

    def is_decided() -> bool:
        return bool(fleet.doubles()) or all(fleet.node_of(f"c{number}") for number in range(A_NODE))

    eventually(is_decided, f"a device is given twice, or {A_NODE} pods are bound", LIMIT_S)
    return fleet.doubles()


def test_where_kube_scheduler_does_not_see_the_taint_devices_are_given_twice(
    fleet: Fleet, kubeconfig: Path, control: ClusterControl, tmp_path: Path
) -> None:
    with blind_scheduler(control, tmp_path), controller(fleet.api, kubeconfig, tmp_path):
        fleet.api.create(PODS, fleet.pod("first"), fleet.namespace)
        eventually(lambda: fleet.node_of("first"), "this kube-scheduler works", LIMIT_S)
        for _ in range(ROUNDS):
            if doubles_of_a_round(fleet):
                return
            end_round(fleet)
    pytest.fail(f"no device was given twice in {ROUNDS} rounds: nobody knows whether the test above sees it")
