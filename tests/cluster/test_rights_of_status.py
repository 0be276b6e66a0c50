"""Whoever has a node's token says what its own devices are like, whatever the version, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cluster_support import Document, eventually

from kube_api import RESOURCE_CLAIMS, Forbidden, Invalid, KubeApi

pytestmark = pytest.mark.layout
RESULT = {"request": "r", "driver": "other.example.com", "pool": "p", "device": "d"}
MINE, OTHERS = "node-of-mine", "node-of-others"
READY = {"type": "Ready", "status": "True", "reason": "Prepared", "message": "m"}
WHEN = "2026-01-01T00:00:00Z"


@pytest.fixture
def claim(api: KubeApi, namespace: str) -> str:
    wanted = {"requests": [{"name": "r", "exactly": {"deviceClassName": "none.example.com"}}]}
    api.create(RESOURCE_CLAIMS, {"metadata": {"name": "c"}, "spec": {"devices": wanted}}, namespace)
    return "c"


def write(api: KubeApi, claim: str, namespace: str, status: Document) -> None:
    api.patch(RESOURCE_CLAIMS, claim, {"status": status}, namespace, subresource="status")


@pytest.mark.usefixtures("rights")
def test_tangram_cannot_give_a_claim_devices_nor_take_them_away(
    api: KubeApi, as_tangram: Callable[..., KubeApi], claim: str, namespace: str
) -> None:
    ours = as_tangram()

    def is_refused(allocation: Document | None) -> bool:
        try:
            write(ours, claim, namespace, {"allocation": allocation})
        except (Forbidden, Invalid) as error:  # newer servers call the field forbidden, not the call
            return "orbidden" in str(error)
        write(
            api, claim, namespace, {"allocation": None if allocation else {"devices": {"results": [RESULT]}}}
        )
        return False  # a policy takes effect a moment after it is there

    eventually(lambda: is_refused({"devices": {"results": [RESULT]}}), "Tangram gives no devices", 10)
    write(api, claim, namespace, {"allocation": {"devices": {"results": [RESULT]}}})
    assert is_refused(None)
    assert "allocation" in api.get(RESOURCE_CLAIMS, claim, namespace).document["status"]


def entry(pool: str, status: str = "True") -> Document:
    """Return what a plugin says of a device."""
    condition = {**READY, "status": status, "lastTransitionTime": WHEN}
    return {"driver": "tangram.dev", "pool": pool, "device": "d", "conditions": [condition]}


@pytest.fixture
def of_two_nodes(api: KubeApi, claim: str, namespace: str) -> str:
    """A claim with a device of each of two nodes, allocated on the first."""
    results = [
        {"request": "r", "driver": "tangram.dev", "pool": pool, "device": "d"} for pool in (MINE, OTHERS)
    ]
    field = {"key": "metadata.name", "operator": "In", "values": [MINE]}
    place = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    write(api, claim, namespace, {"allocation": {"devices": {"results": results}, "nodeSelector": place}})
    return claim


def test_a_node_says_what_its_own_devices_are_like_and_nothing_of_another_nodes(
    api: KubeApi, tangram_of: Callable[[str], KubeApi], of_two_nodes: str, namespace: str
) -> None:
    ours = tangram_of(MINE)

    def is_refused(*devices: Document) -> bool:
        try:
            write(ours, of_two_nodes, namespace, {"devices": list(devices)})
        except Forbidden as error:
            return "on the node that its token names" in str(error)
        write(api, of_two_nodes, namespace, {"devices": None})
        return False  # a policy takes effect a moment after it is there

    eventually(lambda: is_refused(entry(OTHERS)), "a node says nothing of another node's devices", 10)
    write(ours, of_two_nodes, namespace, {"devices": [entry(MINE)]})
    write(api, of_two_nodes, namespace, {"devices": [entry(MINE), entry(OTHERS)]})

    assert is_refused(entry(MINE)), "nor takes away what that node says"
    assert is_refused(entry(MINE), entry(OTHERS, "False")), "nor changes it"
    write(ours, of_two_nodes, namespace, {"devices": [entry(MINE, "False"), entry(OTHERS)]})
    said = api.get(RESOURCE_CLAIMS, of_two_nodes, namespace).document["status"]["devices"]
    assert {one["pool"]: one["conditions"][0]["status"] for one in said} == {MINE: "False", OTHERS: "True"}
