"""Random claims come and go on a node while everything around them is killed: nothing is double or left.

``make chaos-node`` does the same for longer; with the controller: test_controller_chaos.py.
"""

from __future__ import annotations

import pytest
from chaos.campaign import Choice, run
from chaos.parts import parts_of
from chaos.pods import NEVER_RUNS, kinds_of
from launcher.client import ClusterControl

from kube_api import RESOURCE_SLICES, KubeApi

KINDS = kinds_of(has_controller=False)
PARTS = parts_of(has_controller=False)


@pytest.fixture
def shared_gpus(api: KubeApi, node: str) -> None:
    """A node whose GPUs claims may share."""
    found = (one.document["spec"] for one in api.list(RESOURCE_SLICES).items)
    names = {device["name"] for one in found for device in one.get("devices", ())}
    if "gpu-7-shared" not in names:
        pytest.skip(
            "needs shared GPUs: --node-yaml dgx-a100 --driver-option=--gpu-modes=all=whole,mig,shared"
        )


# The collector closes a connection that was cut in its TLS handshake, as the API server was killed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("shared_gpus")
def test_while_the_node_and_the_control_plane_are_killed_no_two_containers_have_one_device(
    control: ClusterControl,
) -> None:
    choice = Choice(
        seed=1,
        seconds=30,
        kinds=KINDS,
        parts=PARTS,
        most=10,
        pause_s=(0.5, 2.0),
        calm_s=5,
        has_controller=False,
    )

    report = run(control, choice, say=print)

    assert report.problems == []
    assert {part for kill in report.kills for part in kill.parts} == set(PARTS)
    assert set(report.ran) == set(KINDS) - NEVER_RUNS
    assert report.most_held > 0
