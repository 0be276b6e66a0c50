"""The policies in the place of the webhook, at a real API server: as the webhook, or the pod is refused."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from controller_server import kubeconfig_of, real_server

from kube_api import PODS, ApiError, KubeApi, Resource
from scheduler_core.base.quantity import Quantity
from scheduler_core.frontends.admission.asked_pod import asked_in_annotation
from scheduler_core.frontends.admission.changes import admission_of
from scheduler_core.model.ownership import AMOUNTS, CLAIM, GATE, TEMPLATES

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[3]
POLICIES = ROOT / "deploy/manifests/without-webhook/policies.yaml"
EXAMPLES = ROOT / "deploy/examples"
GROUP = "admissionregistration.k8s.io/v1"
ACCOUNTS = Resource.of("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
GPU, RDMA, MEMORY = "nvidia.com/gpu", "koordinator.sh/rdma", "koordinator.sh/gpu-memory"
RATIO, CLASS = "koordinator.sh/gpu-memory-ratio", "class.tangram.dev/fast.nic"
MARK = {"scheduling.koordinator.sh/device-joint-allocate": '{"deviceTypes": ["gpu", "rdma"]}'}
REFUSED = "without Tangram's webhook a pod may ask for devices"
_SOON_S = 60.0


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeApi]:
    """A server with the policies in force, and the account that pods need."""
    folder = tmp_path_factory.mktemp("real")
    for server in real_server(folder):
        with closing(
            KubeApi.connect(kubeconfig_of(server, folder / "kubeconfig"), user_agent="test")
        ) as found:
            install(found)
            yield found


def install(api: KubeApi) -> None:
    for one in yaml.safe_load_all(POLICIES.read_text()):
        kind = one["kind"]
        plural = re.sub("y$", "ie", kind).lower() + "s"
        api.create(Resource.of(GROUP, kind, plural, namespaced=False), one)
    api.create(ACCOUNTS, {"metadata": {"name": "default"}}, "default")
    unserved, served = pod({RDMA: "1"}, name=None), pod({RDMA: "1"})
    until = time.monotonic() + _SOON_S
    while not (is_refused(api, unserved) and is_served(api, served)):
        assert time.monotonic() < until, "the policies are not in force"
        time.sleep(0.05)


def pod(
    amounts: dict[str, str],
    name: str | None = "train",
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod with two containers, of which the second one asks."""
    named = {"namespace": "default"} | ({"name": name} if name else {"generateName": "train-"})
    resources = {"requests": {"cpu": "1", **amounts}, "limits": {**amounts}}
    containers = [
        {"name": "other", "image": "i", "resources": {"requests": {"cpu": "1"}}},
        {"name": "main", "image": "i", "resources": resources},
    ]
    return {
        "metadata": {**named, **({"annotations": annotations} if annotations else {})},
        "spec": {"automountServiceAccountToken": False, "containers": containers, **spec},
    }


def stored(api: KubeApi, document: dict[str, Any]) -> dict[str, Any]:
    """What the server would store."""
    return dict(api.create(PODS, copy.deepcopy(document), "default", dry_run=True).document)


def why(api: KubeApi, document: dict[str, Any]) -> str:
    """Why the server refuses a pod, empty where it does not."""
    try:
        stored(api, document)
    except ApiError as error:
        return str(error)
    return ""


def is_refused(api: KubeApi, document: dict[str, Any]) -> bool:
    return REFUSED in why(api, document)


def is_served(api: KubeApi, document: dict[str, Any]) -> bool:
    """Whether the server changes a pod. One that it refuses may meet the other policy before this one."""
    return not why(api, document) and bool(stored(api, document)["spec"].get("resourceClaims"))


def as_the_webhook(document: dict[str, Any]) -> dict[str, Any]:
    """The pod after the webhook's changes."""
    found = copy.deepcopy(document)
    for path, value in admission_of(found, "default", "u-1").fields.items():
        *way, last = path.split("/")[1:]
        at: Any = found
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]
        at[last] = value
    return found


def essence(found: dict[str, Any]) -> dict[str, Any]:
    """What matters of a pod that was changed, whatever its claim is called and its amounts are written."""
    annotations, spec = dict(found["metadata"].get("annotations") or {}), found["spec"]
    amounts = {key: Quantity.parse(text) for key, text in json.loads(annotations.pop(AMOUNTS, "{}")).items()}
    claim = annotations.pop(CLAIM, None)
    return {
        "annotations": annotations,
        "amounts": amounts,
        "claims": [
            {**one, "resourceClaimName": "ours"} if one.get("resourceClaimName") == claim else one
            for one in spec.get("resourceClaims") or []
        ],
        "gates": spec.get("schedulingGates") or [],
        "resources": [
            {key: value for key, value in (one.get("resources") or {}).items() if value}
            for one in (*spec["containers"], *(spec.get("initContainers") or ()))
        ],
    }


SERVED = {
    "one card": pod({RDMA: "1"}),
    "with annotations": pod({RDMA: "1", GPU: "4"}, annotations={**MARK, "example.com/a": "b"}),
    "whole GPUs of a device plugin": pod({GPU: "2", RDMA: "1"}),
    "bytes": pod({MEMORY: "8Gi"}),
    "a class": pod({CLASS: "2"}),
    "nothing": pod({RDMA: "0"}),
    "nothing beside something": pod({RDMA: "1", RATIO: "0"}),
    "no amounts": pod({}),
    "only a device plugin's": pod({GPU: "1"}),
    "gated": pod({RDMA: "1"}, schedulingGates=[{"name": GATE}]),
    "gated by somebody else": pod({RDMA: "1"}, schedulingGates=[{"name": "example.com/quota"}]),
    "with another claim": pod({RDMA: "1"}, resourceClaims=[{"name": "c", "resourceClaimName": "mine"}]),
    "an init container that asks for nothing": pod(
        {RDMA: "1"}, initContainers=[{"name": "first", "image": "i"}]
    ),
}


@pytest.mark.parametrize("document", SERVED.values(), ids=SERVED)
def test_what_the_policies_serve_is_as_the_webhook_changes_it(api: KubeApi, document: dict[str, Any]) -> None:
    found = stored(api, document)

    assert essence(found) == essence(as_the_webhook(document))
    if AMOUNTS in found["metadata"].get("annotations", {}):
        asked = asked_in_annotation(found)
        assert asked is not None
        assert asked == asked_in_annotation(as_the_webhook(document))
        assert found["metadata"]["annotations"][CLAIM] == "train-tangram"


def test_a_pod_that_was_changed_already_is_not_changed_again(api: KubeApi) -> None:
    once = stored(api, SERVED["with annotations"])
    again = {"metadata": {k: once["metadata"][k] for k in ("name", "annotations")}, "spec": once["spec"]}

    assert essence(stored(api, again)) == essence(once)


ASKS = {"name": "asks", "image": "i", "resources": {"limits": {RDMA: "1"}}}
UNSERVED = {
    "no name of its own": pod({RDMA: "1"}, name=None),
    "a long name": pod({RDMA: "1"}, name="a" * 241),
    "a second container": pod({RDMA: "1"}, containers=[ASKS, {**ASKS, "name": "too"}]),
    "an init container": pod({}, initContainers=[ASKS]),
    "an init container beside a container": pod({RDMA: "1"}, initContainers=[ASKS]),
    "a node": pod({RDMA: "1"}, nodeName="node-1"),
    "an entry of its name": pod({RDMA: "1"}, resourceClaims=[{"name": "tangram", "resourceClaimName": "c"}]),
    "an unknown amount": pod({"koordinator.sh/gpu-cores": "1"}),
    "whole GPUs in two containers": pod(
        {},
        annotations=MARK,
        containers=[{**ASKS, "resources": {"limits": {GPU: "1"}}}, {**ASKS, "name": "b"}],
    ),
}


@pytest.mark.parametrize("document", UNSERVED.values(), ids=UNSERVED)
def test_what_they_cannot_serve_is_refused_with_one_sentence(api: KubeApi, document: dict[str, Any]) -> None:
    assert is_refused(api, document), why(api, document) or "it is stored"


@pytest.mark.parametrize("key", [AMOUNTS, CLAIM, TEMPLATES])
def test_annotations_of_ours_by_hand_are_refused(api: KubeApi, key: str) -> None:
    for document in (pod({}, annotations={key: "{}"}), pod({RDMA: "1"}, annotations={key: "{}"})):
        assert f"metadata.annotations[{key}] is written by Tangram" in why(api, document) or is_refused(
            api, document
        )


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod["metadata"].update(name="copy"),
        lambda pod: pod["spec"].pop("schedulingGates"),
        lambda pod: pod["spec"].update(resourceClaims=[{"name": "tangram", "resourceClaimName": "c"}]),
        lambda pod: [one["resources"].pop("claims", None) for one in pod["spec"]["containers"]],
        lambda pod: pod["metadata"]["annotations"].pop(AMOUNTS),
    ],
    ids=["of another pod", "without the gate", "another claim", "nobody uses it", "no amounts"],
)
def test_a_pod_that_is_only_partly_as_the_policy_writes_it_is_refused(api: KubeApi, change: Any) -> None:
    once = stored(api, SERVED["one card"])
    again = {"metadata": {k: once["metadata"][k] for k in ("name", "annotations")}, "spec": once["spec"]}
    change(again)

    assert "is written by Tangram" in why(api, again)


@pytest.mark.parametrize("example", ["joint", "same-pcie-exclusive", "two-vfs", "all-nics", "partition"])
def test_the_proposals_examples_are_served(api: KubeApi, example: str) -> None:
    document = yaml.safe_load((EXAMPLES / f"pods/{example}.yaml").read_text())
    document["spec"]["automountServiceAccountToken"] = False

    assert essence(stored(api, document)) == essence(as_the_webhook(document))


def test_a_copy_of_a_pod_that_a_kubelet_runs_from_a_file_stays_as_it_is(api: KubeApi) -> None:
    mirror = pod({RDMA: "1"}, annotations={"kubernetes.io/config.mirror": "hash"}, nodeName="node-1")

    assert AMOUNTS not in stored(api, mirror)["metadata"]["annotations"]
