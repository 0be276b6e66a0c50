"""The installed agent hears who allocates its node's devices, with the rights that its manifests give it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cluster_support import eventually
from launcher.client import ClusterControl
from owned_node import MARK

from kube_api import NODES, RESOURCE_SLICES, KubeApi
from scheduler_core.model.ownership import CONTROLLER, OWNER

PROMPT_S = 10.0


@pytest.fixture
def unowned(api: KubeApi, control: ClusterControl, node: str) -> Iterator[str]:
    """A node whose devices are kube-scheduler's before and after the test."""
    assert control
    if api.get(NODES, node).metadata.labels.get(OWNER) == CONTROLLER:
        pytest.skip("the controller allocates here")
    yield node
    api.patch(NODES, node, {"metadata": {"labels": {OWNER: None}}})
    eventually(lambda: marks(api, node) == {False}, "no device has the taint", PROMPT_S)


def marks(api: KubeApi, node: str) -> set[bool]:
    """Return whether the node's devices have the taint."""
    slices = api.list(RESOURCE_SLICES, field_selector=f"spec.driver=tangram.dev,spec.nodeName={node}").items
    devices = [device for one in slices for device in one.document["spec"].get("devices", ())]
    return {any(taint.items() >= MARK.items() for taint in one.get("taints", ())) for one in devices}


def test_the_nodes_label_alone_gives_its_devices_to_the_controller_and_back(
    api: KubeApi, unowned: str
) -> None:
    api.patch(NODES, unowned, {"metadata": {"labels": {OWNER: CONTROLLER}}})
    eventually(lambda: marks(api, unowned) == {True}, "every device has the taint", PROMPT_S)

    api.patch(NODES, unowned, {"metadata": {"labels": {OWNER: None}}})
    eventually(lambda: marks(api, unowned) == {False}, "no device has the taint", PROMPT_S)
