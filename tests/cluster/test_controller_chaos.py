"""Pods of all kinds come and go while each part is killed once: nothing is double, nothing is left.

``make chaos`` does the same for longer.
"""

from __future__ import annotations

import pytest
from chaos.campaign import Choice, run
from chaos.parts import parts_of
from chaos.pods import kinds_of
from launcher.client import ClusterControl

from kube_api import NODES, KubeApi
from scheduler_core.model.ownership import CONTROLLER, OWNER


# The collector closes a connection that was cut in its TLS handshake, as the API server was killed.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.timeout(300)
def test_while_parts_are_killed_no_device_is_given_twice_and_afterwards_nothing_is_left(
    api: KubeApi, control: ClusterControl, node: str
) -> None:
    if api.get(NODES, node).metadata.labels.get(OWNER) != CONTROLLER:
        pytest.skip("needs the controller: hack/cluster run --controller --node-yaml dgx-a100")
    kinds, parts = kinds_of(has_controller=True), parts_of(has_controller=True)
    choice = Choice(seed=1, seconds=0, kinds=kinds, parts=parts, most=8, pause_s=(0.2, 0.8), calm_s=0)

    report = run(control, choice, say=print)

    assert report.problems == []
    assert {part for kill in report.kills for part in kill.parts} == set(parts)
    assert report.most_held > 0
