"""What a real API server takes and the controller cannot read is told, and everybody else is served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claims_at_server import node, pod
from controlled_server import NAMESPACE, Controlled, controlling, eventually
from controlled_server.cutting_proxy import CuttingProxy, cutting_proxy
from real_api import RealApi
from scripted_api import write_kubeconfig

from controller.api import RESOURCE_CLASSES
from controller.pools_api import MULTI_NODE_POOLS
from kube_api import NODES, KubeApi, KubeApiError, Resource
from scheduler_core.model.ownership import AMOUNTS, CLAIM, CONDITION, TEMPLATES

pytestmark = pytest.mark.cluster
_DEFINITIONS = Resource.of("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
_PLUGINS_GROUPS = Resource.of("scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups", namespaced=True)
_KINDS = (RESOURCE_CLASSES, MULTI_NODE_POOLS, _PLUGINS_GROUPS)
_SPECS = (None, 7, "x", [], {"resourceSelector": 1, "devices": [None], "minMember": "two"})
_ANNOTATIONS = {
    "not-json": {AMOUNTS: "{", CLAIM: "not-json"},
    "null": {AMOUNTS: "null", CLAIM: "null"},
    "deep": {AMOUNTS: "[" * 50_000, CLAIM: "deep"},
    "huge": {TEMPLATES: "9" * 200_000},
    "templates": {TEMPLATES: '{"templates": null}'},
    "no-claim": {AMOUNTS: '{"nvidia.com/gpu": "1"}'},
    "gang": {"gang.scheduling.koordinator.sh/min-available": "-1"},
}
_QUIET_LOOKS = 30  # at tenths of a second


def definition(kind: Resource) -> dict[str, Any]:
    """Return a definition that takes everything, as one of another version may."""
    group, _, version = kind.api_version.partition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "metadata": {"name": f"{kind.plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": kind.kind, "plural": kind.plural},
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }


@pytest.fixture
def api(controlled: Controlled) -> Iterator[KubeApi]:
    """The API server with kinds of others, which it takes as they come."""
    found = controlled.api
    for kind in _KINDS:
        # The API server asks for approval of the group of Kubernetes' own projects.
        document = definition(kind)
        document["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
        found.create(_DEFINITIONS, document)
    eventually(lambda: all(is_served(found, kind) for kind in _KINDS), "the kinds are served")
    yield found
    for kind in _KINDS:
        found.delete(_DEFINITIONS, definition(kind)["metadata"]["name"])


def is_served(api: KubeApi, kind: Resource) -> bool:
    try:
        api.list(kind)
    except KubeApiError:
        return False
    return True


def told(controlled: Controlled) -> dict[str, str]:
    """Return what our condition says, by pod."""
    return {
        name: condition["message"]
        for name, one in controlled.all_of("Pod").items()
        for condition in (one.get("status") or {}).get("conditions") or ()
        if condition["type"] == CONDITION and condition["status"] == "False"
    }


def asked(proxy: CuttingProxy) -> int:
    """Return how often something was asked that is no watch, no Lease, and no kind that the server lacks."""
    found = dict(proxy.answered)
    return sum(
        count
        for one, count in found.items()
        if not one.startswith("WATCH ") and " leases " not in one and not one.endswith(" 404")
    )


@pytest.mark.timeout(180)
def test_what_cannot_be_read_is_told_once_and_a_good_pod_is_served(
    api_server: RealApi, controlled: Controlled, api: KubeApi, tmp_path: Path
) -> None:
    for kind in _KINDS:
        for number, spec in enumerate(_SPECS):
            document = {"metadata": {"name": f"odd-{number}"}, "spec": spec}
            api.create(kind, document, NAMESPACE if kind.namespaced else None)
    table = {"scheduling.koordinator.sh/gpu-partitions": "{"}
    api.patch(NODES, node("node-b")["metadata"]["name"], {"metadata": {"annotations": table}})
    for name, texts in _ANNOTATIONS.items():
        controlled.put("Pod", {**pod(name, name), "metadata": {"name": name, "annotations": texts}})
    controlled.ask("good")
    log = tmp_path / "log"
    with cutting_proxy(api_server) as proxy:
        kubeconfig = write_kubeconfig(tmp_path / "through", proxy.address, {}, {})
        with controlling(kubeconfig, log) as process:
            eventually(lambda: controlled.gated() == _ANNOTATIONS.keys(), "the good pod is served")
            eventually(lambda: told(controlled).keys() == _ANNOTATIONS.keys(), "the others are told")
            counts: list[int] = []

            def is_quiet() -> bool:
                counts.append(asked(proxy))
                return len(counts) > _QUIET_LOOKS and len(set(counts[-_QUIET_LOOKS:])) == 1

            eventually(is_quiet, "nothing is asked any more")
            assert process.poll() is None
    for name, sentence in told(controlled).items():
        assert sentence.startswith(f"Pod default/{name}"), sentence
        assert len(sentence) < 400
    said = log.read_text()
    assert "Traceback" not in said, said[-3000:]
    assert said.count("Node node-b") == 1
