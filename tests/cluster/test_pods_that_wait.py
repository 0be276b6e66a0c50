"""``tangram pending`` and ``tangram explain pod/NAME`` say of a real cluster what its controller does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cluster_support import eventually
from owned_node import OwnedNode, schedulable
from story import ROOT

from kube_api import PODS, KubeApi
from scheduler_core.model.ownership import CONDITION, CONTROLLER, GATE

pytestmark = pytest.mark.layout


@pytest.fixture
def node(api: KubeApi, kubeconfig: Path, tmp_path: Path, namespace: str) -> Iterator[OwnedNode]:
    if int(api.server_version().split(".")[1]) < 36:
        pytest.skip("needs the feature gate DRADeviceTaints, on from Kubernetes 1.36")
    with schedulable(api, kubeconfig, tmp_path, namespace) as made:
        made.label(CONTROLLER)
        with made.site.agent("--no-composite"):
            made.owned(timeout_s=30.0)
            yield made


@contextmanager
def controller(node: OwnedNode, kubeconfig: Path, folder: Path) -> Iterator[None]:
    """Run a controller while the block is open."""
    command = [sys.executable, "-m", "controller", f"--kubeconfig={kubeconfig}"]
    command += [f"--namespace={node.namespace}", f"--driver-name={node.site.driver}"]
    with (folder / "controller.log").open("w") as log:
        process = subprocess.Popen(command, stderr=log, cwd=ROOT)
    try:
        yield
    finally:
        process.terminate()
        status = process.wait(60)
    assert status == 0


def test_both_commands_agree_with_the_controller(node: OwnedNode, kubeconfig: Path, tmp_path: Path) -> None:
    def said(*arguments: str) -> tuple[int, Any]:
        command = [sys.executable, "-m", "tangram", *arguments, "--json", f"--kubeconfig={kubeconfig}"]
        done = subprocess.run(
            [*command, f"--namespace={node.namespace}", f"--driver-name={node.site.driver}"],
            capture_output=True,
            check=False,
            text=True,
            timeout=120,
            cwd=ROOT,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    def pending() -> dict[str, Any]:
        return {one["name"]: one for one in said("pending")[1]["pods"]}

    def condition(name: str) -> str:
        status = node.api.get(PODS, name, node.namespace).document.get("status") or {}
        found = [one for one in status.get("conditions", ()) if one["type"] == CONDITION]
        return str(found[0]["message"]) if found else ""

    for number in range(3):  # the machine has two GPUs
        node.claim(f"p{number}")
        node.pod(f"p{number}", gates=[GATE])
    before = pending()
    placed = {name: one["devices"] for name, one in before.items() if one["node"]}
    (waits,) = before.keys() - placed.keys()  # of pods of one second the UID decides
    for name, devices in placed.items():
        status, explained = said("explain", f"pod/{name}")
        assert (status, explained["devices"]) == (0, devices)

    with controller(node, kubeconfig, tmp_path):
        for name, devices in placed.items():
            given = f"{node.site.driver}/{node.site.name}/{node.bound(name)}"
            assert devices == {f"{node.namespace}/{name}": [given]}
        message = eventually(lambda: condition(waits), f"{waits} is told why it waits", 90)

    # A controller that has just started may have told that the node is new to it; the commands know better.
    assert pending().keys() == {waits}
    status, explained = said("explain", f"pod/{waits}")
    assert (status, explained["told"]) == (1, message)
    assert "needs 1 device, and none of the 2 that match is free" in explained["reason"]
    status, of_claim = said("explain", f"claim/{waits}")
    assert (status, of_claim) == (1, {"claim": f"{node.namespace}/{waits}", **explained})
    assert {said("explain", f"pod/{name}")[1]["state"] for name in placed} == {"has its devices"}
