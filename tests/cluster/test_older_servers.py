"""Before Kubernetes 1.36 a gate keeps taints of devices: with it the controller has its nodes for itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_support import eventually
from fleet import Fleet, controller, plain_slice
from launcher.client import ClusterControl
from story import DRIVER

from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, KubeApi
from scheduler_core.model.ownership import GATE

pytestmark = pytest.mark.layout
DEVICES = 6


def test_with_the_gate_only_the_controller_allocates_the_devices_of_its_nodes(
    api: KubeApi, control: ClusterControl, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    if int(api.server_version().split(".")[1]) >= 36:
        pytest.skip("the gate DRADeviceTaints is on from Kubernetes 1.36: test_controller_race.py")
    control.set_feature_gates({"DRADeviceTaints": True})
    fleet = Fleet(api, namespace)
    expression = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"].type == "plain"'
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    api.create(DEVICE_CLASSES, {"metadata": {"name": fleet.name}, "spec": spec})
    wanted = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": fleet.name}}]}}
    names = [f"c{number}" for number in range(DEVICES)]
    fleet.add([plain_slice(DEVICES)])

    with controller(api, kubeconfig, tmp_path):
        for number, name in enumerate(names):  # every second one is kube-scheduler's to try as well
            api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": wanted}, namespace)
            gates = [{"name": GATE}] if number % 2 else []
            api.create(PODS, fleet.pod(name, name, schedulingGates=gates), namespace)
        eventually(lambda: all(fleet.node_of(name) for name in names), "all pods are bound", 90)

    claims = [api.get(RESOURCE_CLAIMS, name, namespace).document["metadata"] for name in names]
    writers = {
        field["manager"]
        for claim in claims
        for field in claim["managedFields"]
        if "f:allocation" in field["fieldsV1"].get("f:status", {})
    }
    assert writers == {"tangram-controller"}
    assert fleet.doubles() == []
    fleet.close()
    api.delete(DEVICE_CLASSES, fleet.name)
