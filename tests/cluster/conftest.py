"""A cluster to test in: the launcher's, around this process, or the one of a user's kubeconfig.

``TANGRAM_CLUSTER`` names the launcher's folder (make test-cluster sets it); ``TANGRAM_TEST_KUBECONFIG``
another cluster, over which nobody has control. Without both every test here is skipped, and a kubeconfig
that happens to lie around is never touched.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import needs
import pytest

from kube_api import NAMESPACES, NODES, PODS, KubeApi, Limits, NotFound, Resource

sys.path.insert(0, str(Path(__file__).parents[2] / "hack" / "cluster"))
sys.path.insert(0, str(Path(__file__).parent / "support"))

from cluster_support import Document, eventually
from launcher.client import ClusterControl

SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount", namespaced=True)
_HERE = Path(__file__).parent
_BASE = _HERE.parents[1] / "deploy/manifests/base"
_RIGHTS = ("access.yaml", "admission-policy.yaml", "claims-in-use.yaml")
_NAMESPACE = "tangram-system"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    folder, file = os.environ.get("TANGRAM_CLUSTER"), os.environ.get("TANGRAM_TEST_KUBECONFIG")
    if not folder and not file:
        pytest.skip(f"needs {needs.CLUSTER}")
    return Path(folder, "kubeconfig") if folder else Path(str(file))


@pytest.fixture(scope="session")
def api(kubeconfig: Path) -> KubeApi:
    """The API server, as its administrator."""
    return KubeApi.connect(
        kubeconfig,
        user_agent="tangram-tests",
        clock=time.monotonic,
        sleep=time.sleep,
        random=random.random,
        limits=Limits(calls_per_s=500, burst=1000),
    )


@pytest.fixture
def control(kubeconfig: Path) -> Iterator[ClusterControl]:
    """The parts of the launcher's cluster; what a test stopped or changed is mended after it."""
    if not os.environ.get("TANGRAM_CLUSTER"):
        pytest.skip("needs control over the node: make test-cluster, without KUBECONFIG")
    control = ClusterControl(kubeconfig.parent)
    before = control.state()
    yield control
    for name, part in control.state().parts.items():
        if part.pid is None:
            control.start(name)
    if control.state().feature_gates != before.feature_gates:
        control.set_feature_gates({})


@pytest.fixture
def node(api: KubeApi) -> str:
    """The name of a node on which pods run."""
    for found in api.list(NODES).items:
        conditions = found.document.get("status", {}).get("conditions", [])
        runtime = found.document.get("status", {}).get("nodeInfo", {}).get("containerRuntimeVersion")
        if runtime and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions):
            return found.metadata.name
    pytest.skip("needs a node on which pods run: this cluster is a control plane only")


def _exists(api: KubeApi, namespace: str) -> bool:
    try:
        return bool(api.get(SERVICE_ACCOUNTS, "default", namespace))
    except NotFound:
        return False


@pytest.fixture
def namespace(api: KubeApi) -> Iterator[str]:
    """A fresh namespace, deleted after the test with all that is in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    api.create(NAMESPACES, {"metadata": {"name": name}})
    if _exists(api, "default"):  # else nobody makes service accounts, and pods need none
        eventually(lambda: _exists(api, name), f"service account in {name}")
    yield name
    try:
        api.delete(NAMESPACES, name)
    except NotFound:
        return


@pytest.fixture
def kubectl(kubeconfig: Path) -> Callable[..., str]:
    """kubectl, as the administrator; it returns what the program printed."""

    def run(*arguments: str) -> str:
        command = ("kubectl", f"--kubeconfig={kubeconfig}", *arguments)
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=90).stdout

    return run


@pytest.fixture
def tangram(api: KubeApi, node: str) -> Document:
    """Tangram's pod on the node."""
    pods = api.list(PODS, "tangram-system", "app.kubernetes.io/name=tangram", f"spec.nodeName={node}").items
    assert pods, f"Tangram does not run on {node}"
    return dict(pods[0].document)


@pytest.fixture
def with_token(kubeconfig: Path, kubectl: Callable[..., str], tmp_path: Path) -> Callable[[str], KubeApi]:
    """The API server as whoever has a token."""

    def connect(token: str) -> KubeApi:
        config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--minify", "--output=json"))
        config["users"][0]["user"] = {"token": token.strip()}
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(config))
        return KubeApi.connect(
            file,
            user_agent="tangram-tests",
            clock=time.monotonic,
            sleep=time.sleep,
            random=random.random,
            limits=Limits(),
        )

    return connect


@pytest.fixture
def as_tangram(kubectl: Callable[..., str], with_token: Callable[[str], KubeApi]) -> Callable[..., KubeApi]:
    """The API server as Tangram's service account, with the token of a pod or with one that names none."""

    def connect(pod: Document | None = None) -> KubeApi:
        metadata = pod["metadata"] if pod else {}
        bound = (
            "--bound-object-kind=Pod",
            f"--bound-object-name={metadata.get('name')}",
            f"--bound-object-uid={metadata.get('uid')}",
        )
        return with_token(
            kubectl("create", "token", "tangram", f"--namespace={_NAMESPACE}", *(bound if pod else ()))
        )

    return connect


@pytest.fixture
def as_tenant(
    api: KubeApi, kubectl: Callable[..., str], with_token: Callable[[str], KubeApi]
) -> Callable[[str], KubeApi]:
    """The API server as somebody who may do everything with the claims and pods of one namespace."""

    def connect(namespace: str) -> KubeApi:
        api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "tenant"}}, namespace)
        role = ("--verb=*", "--resource=resourceclaims.resource.k8s.io,pods")
        kubectl("create", "role", "tenant", *role, f"--namespace={namespace}")
        who = f"--serviceaccount={namespace}:tenant"
        kubectl("create", "rolebinding", "tenant", "--role=tenant", who, f"--namespace={namespace}")
        return with_token(kubectl("create", "token", "tenant", f"--namespace={namespace}"))

    return connect


@pytest.fixture
def rights(request: pytest.FixtureRequest, kubectl: Callable[..., str]) -> Iterator[None]:
    """Tangram's rights and policies, installed while the test runs where they were not before."""
    try:
        kubectl("get", "validatingadmissionpolicy", "tangram-status-of-own-devices")
    except subprocess.CalledProcessError:
        request.getfixturevalue("control")  # skips in a cluster of somebody's, where nothing is installed
        kubectl("apply", "-f", str(_BASE / "namespace.yaml"))
        files = [f"--filename={_BASE / name}" for name in _RIGHTS]
        kubectl("apply", *files)
        yield
        kubectl("delete", *files)
    else:
        yield


@pytest.fixture
def tangram_of(
    rights: None, api: KubeApi, as_tangram: Callable[..., KubeApi]
) -> Iterator[Callable[[str], KubeApi]]:
    """The API server as Tangram on a node of this name, with the token of a pod that never runs there."""
    assert rights is None
    made: list[str] = []

    def connect(node: str) -> KubeApi:
        name = f"token-{uuid.uuid4().hex[:8]}"
        container = {"name": "c", "image": "localhost/pause:1"}
        spec: Document = {
            "nodeName": node,
            "serviceAccountName": "tangram",
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
        }
        stored = api.create(PODS, {"metadata": {"name": name}, "spec": spec}, _NAMESPACE)
        made.append(name)
        return as_tangram(dict(stored.document))

    yield connect
    for name in made:
        with suppress(NotFound):
            api.delete(PODS, name, _NAMESPACE)
