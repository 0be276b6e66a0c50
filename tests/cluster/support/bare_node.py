"""A node that is only an object, with an agent beside the API server that publishes a machine for it.

Pods that are bound to it have been placed and never run: what a scheduler decides is all that it shows.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from cluster_support import Document, eventually
from story import ROOT, devices, slices

from kube_api import DEVICE_CLASSES, NODES, RESOURCE_SLICES, AlreadyExists, KubeApi


@contextmanager
def publishing(api: KubeApi, kubeconfig: Path, name: str, folder: Path, *options: str) -> Iterator[None]:
    """Keep a node and its slices while the block is open. Shape: ``options`` are the agent's."""
    api.create(NODES, node_object(name))
    command = (
        *(sys.executable, "-m", "agent", f"--kubeconfig={kubeconfig}", f"--node-name={name}"),
        *(f"--machine={folder / 'machine'}", *options),
    )
    try:
        with (
            open(folder / "agent.log", "wb") as log,
            subprocess.Popen(command, stderr=log, cwd=ROOT) as agent,
        ):
            try:
                eventually(lambda: _is_complete(api, name), f"the slices of {name}")
                yield
            finally:
                agent.terminate()
    finally:
        for found in slices(api, name):
            api.delete(RESOURCE_SLICES, found["metadata"]["name"])
        api.delete(NODES, name)


def node_object(name: str) -> Document:
    """Return a node that the scheduler takes for one that runs."""
    resources = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "Simulated", "message": ""}
    times = {"lastHeartbeatTime": "2030-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": resources, "capacity": resources, "conditions": [{**ready, **times}]},
    }


def install_classes(api: KubeApi, *files: str) -> None:
    """Create the DeviceClasses of some examples where they are not there yet."""
    documents = [one for file in files for one in yaml.safe_load_all((ROOT / file).read_text())]
    for document in documents:
        if document["kind"] == "DeviceClass":
            try:
                api.create(DEVICE_CLASSES, document)
            except AlreadyExists:
                continue


def _is_complete(api: KubeApi, name: str) -> bool:
    found = slices(api, name)
    return bool(devices(api, name)) and {len(found)} == {
        one["spec"]["pool"]["resourceSliceCount"] for one in found
    }
