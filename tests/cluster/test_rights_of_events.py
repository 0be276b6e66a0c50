"""Whoever takes over one node tells people nothing in the name of another, whatever the version."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cluster_support import Document, eventually

from kube_api import EVENTS, Forbidden, KubeApi

pytestmark = pytest.mark.layout
MINE, OTHERS = "node-of-mine", "node-of-others"
NODE = {"apiVersion": "v1", "kind": "Node", "name": MINE, "uid": MINE}


def event(namespace: str, name: str = "e", **changed: object) -> Document:
    """Return an event about a claim, as the plugin of a node writes it, with other fields where wanted."""
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "name": "c", "namespace": namespace}
    said: Document = {
        "metadata": {"name": name, "namespace": namespace},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "tangram.dev/plugin",
        "reportingInstance": MINE,
        "type": "Warning",
        "reason": "PrepareFailed",
        "action": "Prepare",
        "note": "n",
        "regarding": claim,
    }
    return {**said, **changed}


def refusal(api: KubeApi, document: Document, namespace: str) -> str:
    """Return why an event is refused, empty where it would be stored."""
    try:
        api.create(EVENTS, document, namespace, dry_run=True)
    except Forbidden as error:
        return str(error)
    return ""


@pytest.fixture
def ours(tangram_of: Callable[[str], KubeApi], namespace: str) -> KubeApi:
    """The API server as the token of one node, once the policies are in force."""
    connected = tangram_of(MINE)
    foreign = event(namespace, reportingInstance=OTHERS)
    eventually(lambda: refusal(connected, foreign, namespace), "the policies are in force", 10)
    return connected


def test_a_node_tells_of_itself_and_of_claims_and_counts_again(
    api: KubeApi, ours: KubeApi, namespace: str
) -> None:
    about_node = event("default", regarding=NODE, reportingController="tangram.dev/agent")
    stored = ours.create(EVENTS, event(namespace), namespace)
    again = {"series": {"count": 2, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}}

    ours.patch(EVENTS, stored.metadata.name, again, namespace)

    assert refusal(ours, about_node, "default") == ""
    assert api.get(EVENTS, "e", namespace).document["series"]["count"] == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"reportingInstance": OTHERS},
        {"reportingController": "kubelet"},
        {"reportingController": "tangram.dev/controller"},
        {"regarding": {**NODE, "name": OTHERS, "uid": OTHERS}},
        {"regarding": {"apiVersion": "v1", "kind": "Pod", "name": "p"}},
    ],
    ids=str,
)
def test_a_node_speaks_for_nobody_else_and_of_nothing_else(
    ours: KubeApi, namespace: str, changed: Document
) -> None:
    document = event(namespace, **changed)
    regarding = dict(document["regarding"])
    if regarding["kind"] == "Pod":
        document["regarding"] = {**regarding, "namespace": namespace}
    where = "default" if regarding["kind"] == "Node" else namespace
    document["metadata"] = {"name": "e", "namespace": where}

    assert "write an event: " in refusal(ours, document, where)


def test_a_node_cannot_take_over_the_event_of_another(api: KubeApi, ours: KubeApi, namespace: str) -> None:
    api.create(EVENTS, event(namespace, reportingInstance=OTHERS), namespace)

    with pytest.raises(Forbidden, match=f"this token is of node {MINE}"):
        ours.patch(
            EVENTS,
            "e",
            {"series": {"count": 9, "lastObservedTime": "2026-01-01T00:00:00.000000Z"}},
            namespace,
        )
