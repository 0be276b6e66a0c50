"""Whoever has a node's token cannot hand out devices by a claim's status, whatever the version."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from subprocess import CalledProcessError

import pytest
from cluster_support import Document, eventually
from story import ROOT

from kube_api import RESOURCE_CLAIMS, Forbidden, Invalid, KubeApi

pytestmark = pytest.mark.layout
BASE = ROOT / "deploy/manifests/base"
FILES = ("access.yaml", "admission-policy.yaml")
RESULT = {"request": "r", "driver": "other.example.com", "pool": "p", "device": "d"}


@pytest.fixture
def rights(request: pytest.FixtureRequest, kubectl: Callable[..., str]) -> Iterator[None]:
    """Tangram's rights, installed while the test runs where they were not before."""
    try:
        kubectl("get", "validatingadmissionpolicy", "tangram-status-of-own-devices")
    except CalledProcessError:
        request.getfixturevalue("control")  # skips in a cluster of somebody's, where nothing is installed
        for file in ("namespace.yaml", *FILES):
            kubectl("apply", "-f", str(BASE / file))
        yield
        for file in FILES:
            kubectl("delete", "-f", str(BASE / file))
    else:
        yield


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
