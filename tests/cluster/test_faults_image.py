"""An image that lacks what Tangram's programs need: the DaemonSet says which, and nothing is published."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
from cluster_support import Document, eventually
from story import DRIVER

from kube_api import EVENTS, PODS, KubeApi, Resource

DAEMON_SETS = Resource.of("apps/v1", "DaemonSet", "daemonsets", namespaced=True)
SYSTEM = "tangram-system"


@pytest.fixture
def daemon_set(api: KubeApi, node: str, namespace: str) -> Iterator[str]:
    """The shipped DaemonSet once more, beside the installed one, from an image that has only a shell."""
    (shipped,) = api.list(DAEMON_SETS, SYSTEM, field_selector="metadata.name=tangram").items
    spec = copy.deepcopy(shipped.document["spec"])
    labels = {"app.kubernetes.io/name": namespace}
    spec["selector"] = {"matchLabels": labels}
    spec["template"]["metadata"] = {"labels": labels}
    for container in spec["template"]["spec"]["containers"]:
        container["image"] = "localhost/busybox:1"
        container["args"] = [*container["args"], f"--driver-name={namespace}.{DRIVER}"]
    api.create(DAEMON_SETS, {"metadata": {"name": namespace}, "spec": spec}, SYSTEM)
    yield namespace
    api.delete(DAEMON_SETS, namespace, SYSTEM)


def test_an_image_without_python_is_told_by_name_and_never_counts_as_ready(
    api: KubeApi, daemon_set: str
) -> None:
    def stuck() -> list[Document]:
        pods = api.list(PODS, SYSTEM, f"app.kubernetes.io/name={daemon_set}").items
        states = [
            container["state"] | container.get("lastState", {})
            for one in pods
            for container in one.document["status"].get("containerStatuses", [])
        ]
        return states if len(states) == 2 and all(map(reason, states)) else []

    states = eventually(stuck, "both containers say why they do not run", 60.0)

    assert all("python3" in reason(state) for state in states)
    assert any(
        "python3" in str(event.document.get("note"))
        for event in api.list(EVENTS, SYSTEM).items
        if event.document["regarding"]["name"].startswith(daemon_set)
    )
    status = api.get(DAEMON_SETS, daemon_set, SYSTEM).document["status"]
    assert status["numberReady"] == 0
    assert status["numberUnavailable"] == 1


def reason(state: Document) -> str:
    """Return why a container could not start, in its runtime's words; empty while it is about to."""
    told = [one.get("message", "") for one in state.values()]
    return next((one for one in told if "executable file" in one and "not found" in one), "")
