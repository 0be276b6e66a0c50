"""Nobody gets around the controller's taint, and only pods that ask for devices depend on its webhook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import CalledProcessError

import pytest
from cluster_support import Document, eventually, pod
from owned_node import OwnedNode, schedulable
from story import ROOT

from kube_api import (
    NAMESPACES,
    PODS,
    RESOURCE_CLAIMS,
    AlreadyExists,
    ApiError,
    Forbidden,
    Invalid,
    KubeApi,
    Resource,
)
from scheduler_core.model.ownership import AMOUNTS, CONTROLLER, GATE, OWNER

pytestmark = pytest.mark.layout
OVERLAY = ROOT / "deploy/manifests/overlays/controller"
TEMPLATES = Resource.of(
    "resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True
)
EVERYTHING = {"operator": "Exists"}
REFUSED = "must not cover the taint tangram.dev/allocator=controller"
FIRST_S = 30.0

Kubectl = Callable[..., str]
Install = Callable[[], None]


def claim(*tolerations: Document, **more: bool) -> Document:
    asked: Document = {"deviceClassName": "none.example.com", "tolerations": list(tolerations), **more}
    return {"devices": {"requests": [{"name": "r", "exactly": asked}]}}


def is_refused(api: KubeApi, spec: Document, namespace: str, kind: Resource = RESOURCE_CLAIMS) -> bool:
    """Whether the claim is refused for its tolerations; it is not stored."""
    spec = spec if kind == RESOURCE_CLAIMS else {"spec": spec}
    try:
        api.create(kind, {"metadata": {"name": "probe"}, "spec": spec}, namespace, dry_run=True)
    except (Forbidden, Invalid) as error:
        return REFUSED in str(error)
    return False


@pytest.fixture
def installed(
    request: pytest.FixtureRequest, api: KubeApi, kubectl: Kubectl, namespace: str
) -> Iterator[Install]:
    """Install the policies when it is called, where they are not there; they are gone after the test."""
    if int(api.server_version().split(".")[1]) < 36:
        pytest.skip("needs the feature gate DRADeviceTaints, on from Kubernetes 1.36")
    file, is_ours = str(OVERLAY / "admission-policy.yaml"), False
    account = ("serviceaccount", "tangram-controller", "--namespace=tangram-system")
    is_account_ours = False
    try:
        kubectl("get", "validatingadmissionpolicy", "tangram-tolerations")
    except CalledProcessError:
        request.getfixturevalue("control")  # skips in a cluster of somebody's, where nothing is installed
        is_ours = True

    def install() -> None:
        nonlocal is_account_ours
        if is_ours:
            with suppress(AlreadyExists):
                api.create(NAMESPACES, {"metadata": {"name": "tangram-system"}})
            with suppress(CalledProcessError):
                kubectl("create", *account)
                is_account_ours = True
            kubectl("apply", "-f", file)
        eventually(lambda: is_refused(api, claim(EVERYTHING), namespace), "the policy is in force")

    yield install
    if is_ours:
        kubectl("delete", "--ignore-not-found", "-f", file)
    if is_account_ours:
        kubectl("delete", *account)


@pytest.mark.parametrize("kind", [RESOURCE_CLAIMS, TEMPLATES], ids=lambda kind: kind.kind)
def test_tolerations_that_cover_the_taint_are_refused_and_others_are_not(
    installed: Install, api: KubeApi, namespace: str, kind: Resource
) -> None:
    installed()
    ours, other = {"key": OWNER}, {"key": "example.com/other"}
    covering: list[Document] = [
        EVERYTHING,
        {**EVERYTHING, "effect": "NoSchedule"},
        {**ours, **EVERYTHING},
        {**ours, "value": CONTROLLER},
        {**ours, "operator": "Equal", "value": CONTROLLER, "effect": "NoSchedule"},
    ]
    harmless: list[Document] = [
        {**EVERYTHING, "effect": "NoExecute"},
        {**ours, "value": "somebody"},
        {**ours, "value": CONTROLLER, "effect": "NoExecute"},
        {**other, **EVERYTHING},
        {**other, "value": CONTROLLER},
    ]

    for one in covering:
        assert is_refused(api, claim(one), namespace, kind), one
        assert is_refused(api, claim(*harmless, one), namespace, kind), one
    for one in harmless:
        assert not is_refused(api, claim(one), namespace, kind), one


def test_an_alternative_of_a_request_is_judged_too(installed: Install, api: KubeApi, namespace: str) -> None:
    installed()
    alternatives = [{"name": str(one), "deviceClassName": "none.example.com"} for one in ("a", "b")]
    spec = {"devices": {"requests": [{"name": "r", "firstAvailable": alternatives}]}}

    assert not is_refused(api, spec, namespace)
    alternatives[1]["tolerations"] = [EVERYTHING]  # type: ignore[assignment]
    assert is_refused(api, spec, namespace)


def test_who_only_looks_at_devices_may_tolerate_everything(
    installed: Install, api: KubeApi, namespace: str
) -> None:
    installed()
    labels = {"resource.kubernetes.io/admin-access": "true"}
    api.patch(NAMESPACES, namespace, {"metadata": {"labels": labels}})

    assert not is_refused(api, claim(EVERYTHING, adminAccess=True), namespace)


@pytest.fixture
def node(api: KubeApi, kubeconfig: Path, tmp_path: Path, namespace: str) -> Iterator[OwnedNode]:
    with schedulable(api, kubeconfig, tmp_path, namespace) as made:
        yield made


def for_driver(policy: Path, driver: str, file: Path) -> Path:
    """Write the policies for another driver."""
    file.write_text(policy.read_text().replace("'\"tangram.dev\"'", f"'\"{driver}\"'"))
    assert driver in file.read_text()
    return file


def test_an_older_claim_that_tolerates_everything_gets_no_device_of_an_owned_node(
    installed: Install, node: OwnedNode, kubectl: Kubectl, tmp_path: Path
) -> None:
    node.label(CONTROLLER)
    with node.site.agent("--no-composite"):
        node.owned(timeout_s=FIRST_S)
        node.ask("before", [EVERYTHING])
        assert node.bound("before")  # without the policies nothing else keeps it off
        node.claim("older", [EVERYTHING])
        installed()
        kubectl(
            "apply",
            "-f",
            str(for_driver(OVERLAY / "admission-policy.yaml", node.site.driver, tmp_path / "p.yaml")),
        )

        def keeps_off() -> bool:
            try:
                node.allocate("older", "gpu-1", [EVERYTHING])
            except (Forbidden, Invalid) as error:
                return "only Tangram's controller may allocate" in str(error)
            node.release("older")
            return False

        eventually(keeps_off, "the policy is in force")
        node.pod("older")
        said = node.turned_away("older")
        assert "only Tangram's controller may allocate" in said
        assert node.device_of("older") == ""
        node.release("before")  # taking a device away stays allowed
        assert node.device_of("before") == ""


@pytest.fixture
def webhook(request: pytest.FixtureRequest, api: KubeApi, kubectl: Kubectl) -> Iterator[None]:
    """The webhook's configuration, behind which nobody answers."""
    try:
        kubectl("get", "mutatingwebhookconfiguration", "tangram-controller")
    except CalledProcessError:
        request.getfixturevalue("control")
        text = (OVERLAY / "webhook.yaml").read_text()
        (configuration,) = [one for one in text.split("---\n") if "MutatingWebhook" in one]
        file = Path(request.getfixturevalue("tmp_path")) / "webhook.yaml"
        file.write_text(configuration)
        kubectl("apply", "-f", str(file))
        yield
        kubectl("delete", "-f", str(file))
    else:
        pytest.skip("the controller is installed, and answers")


@pytest.mark.usefixtures("webhook")
def test_only_pods_that_ask_for_devices_need_an_answer_of_the_webhook(api: KubeApi, namespace: str) -> None:
    def needs(made: Document, where: str = namespace) -> bool:
        try:
            api.create(PODS, made, where, dry_run=True)
        except ApiError as error:
            return "pods.tangram.dev" in str(error)
        return False

    def asking(name: str, where: str = "containers") -> Document:
        made = pod("p")
        container = {**made["spec"]["containers"][0], "name": "asks", "resources": {"limits": {name: "1"}}}
        made["spec"][where] = [*made["spec"].get(where, []), container]
        return made

    def noted(key: str) -> Document:
        made = pod("p")
        return {**made, "metadata": {**made["metadata"], "annotations": {key: "{}"}}}

    gated = pod("p", schedulingGates=[{"name": GATE}])
    eventually(lambda: needs(gated), "the configuration is in force")
    for made in (
        noted("scheduling.koordinator.sh/device-joint-allocate"),
        noted("scheduling.koordinator.sh/device-allocate-hint"),
        noted("scheduling.koordinator.sh/gpu-partition-spec"),
        noted(AMOUNTS),
        asking("koordinator.sh/gpu-memory-ratio"),
        asking("koordinator.sh/rdma"),
        asking("class.tangram.dev/fast.nic"),
        asking("class.tangram.dev/fast.nic", "initContainers"),
    ):
        assert needs(made), made
    for made in (
        pod("p"),
        pod("p", schedulingGates=[{"name": "example.com/other"}]),
        noted("example.com/other"),
        asking("nvidia.com/gpu"),
        asking("example.com/koordinator.sh"),
    ):
        assert not needs(made), made
