"""Events as a real API server stores them."""

from __future__ import annotations

import time

import pytest

from kube_api import EVENTS, EventWriter, KubeApi, Regarding, Resource

pytestmark = pytest.mark.cluster

CONFIG_MAPS = Resource.of("v1", "ConfigMap", "configmaps", namespaced=True)


def test_what_happens_again_is_one_event_that_counts(real: KubeApi, namespace: str) -> None:
    about = real.create(CONFIG_MAPS, {"metadata": {"name": "train"}}, namespace)
    writer = EventWriter(real, "tangram.dev/plugin", time.time, instance="node-a")

    for _ in range(3):
        writer.emit(about, "Warning", "PrepareFailed", "gpu-0 is lost", "Prepare")
    writer.close()

    (event,) = real.list(EVENTS, namespace).items
    assert event.document["series"]["count"] == 3
    assert (event.document["note"], event.document["type"]) == ("gpu-0 is lost", "Warning")
    assert event.document["regarding"]["uid"] == about.metadata.uid


def test_an_event_about_a_node_is_where_people_look_for_it(real: KubeApi) -> None:
    writer = EventWriter(real, "tangram.dev/agent", time.time)

    writer.emit(
        Regarding(api_version="v1", kind="Node", name="a"), "Normal", "Published", "4 devices", "Publish"
    )
    writer.close()

    found = real.list(EVENTS, "default", field_selector="regarding.kind=Node,regarding.name=a").items
    assert [event.document["reason"] for event in found] == ["Published"]
