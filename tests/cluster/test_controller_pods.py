"""Pods on a node that is the controller's, which runs from its image beside kube-scheduler and a kubelet."""

from __future__ import annotations

import copy
import re
import uuid
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from cluster_support import eventually
from controlled import GATED, NAME, SYSTEM, Controlled, example, half_a_gpu, user
from launcher.client import ClusterControl
from plugin_support import PluginSite
from story import ROOT

from controller.api import RESOURCE_CLASSES
from controller.certificates_api import WEBHOOKS
from controller.lease_api import LEASES
from kube_api import NODES, PODS, RESOURCE_CLAIM_TEMPLATES, RESOURCE_CLAIMS, Invalid, KubeApi
from scheduler_core.model.ownership import CONTROLLER, OWNER

BY_TEMPLATE = {"name": "part", "resourceClaimTemplateName": "half"}
BY_NAME = {"name": "part", "resourceClaimName": "half"}
OBJECTS = {"metadata": {"name": "half"}, "spec": half_a_gpu()}


@pytest.fixture
def here(api: KubeApi, control: ClusterControl, node: str, namespace: str) -> Iterator[Controlled]:
    """A namespace in a cluster whose node is the controller's; at its end nothing may be left on the node."""
    if api.get(NODES, node).metadata.labels.get(OWNER) != CONTROLLER:
        pytest.skip("needs the controller: hack/cluster run --controller --node-yaml dgx-a100")
    found = Controlled(api, control, namespace, node)
    yield found
    found.end(*(one.metadata.name for one in api.list(PODS, namespace).items))


@pytest.fixture
def template(here: Controlled) -> None:
    document = {"metadata": {"name": "half"}, "spec": {"spec": half_a_gpu()}}
    here.api.create(RESOURCE_CLAIM_TEMPLATES, document, here.namespace)


@pytest.mark.usefixtures("here")
def test_two_replicas_are_ready_one_of_them_leads_and_the_webhook_is_trusted(api: KubeApi) -> None:
    pods = api.list(PODS, SYSTEM, f"app.kubernetes.io/name={NAME}").items
    ready = [
        one.metadata.name
        for one in pods
        for condition in one.document["status"]["conditions"]
        if (condition["type"], condition["status"]) == ("Ready", "True")
    ]
    lease = api.get(LEASES, NAME, SYSTEM).document["spec"]
    (webhook,) = api.get(WEBHOOKS, NAME).document["webhooks"]

    assert len(ready) == 2
    assert lease["holderIdentity"].partition("_")[0] in ready
    assert b64decode(webhook["clientConfig"]["caBundle"]).startswith(b"-----BEGIN CERTIFICATE-----")
    for name in ready:
        assert "forbidden" not in api.raw_get(f"{PODS.path(SYSTEM, name)}/log")


@pytest.mark.usefixtures("template")
def test_a_gated_pod_gets_a_claim_by_name_in_place_of_its_template_and_sees_its_partition(
    here: Controlled,
) -> None:
    here.pod(user("gated", [BY_TEMPLATE], schedulingGates=GATED))

    seen = here.sees("gated")

    pod = here.read("gated")
    (claim,) = pod["spec"]["resourceClaims"]
    assert set(claim) == {"name", "resourceClaimName"}
    assert "resourceClaimStatuses" not in pod["status"]
    assert "schedulingGates" not in pod["spec"]
    (device,) = here.given("gated")["half"]
    assert f"TANGRAM_DEVICE_{device.upper().replace('-', '_').partition('_MIG')[0]}_MIG_3G_20GB" in " ".join(
        seen
    )
    assert len([name for name in seen if name.startswith("/dev/nvidia-caps/")]) == 2
    here.end("gated")
    assert here.api.list(RESOURCE_CLAIMS, here.namespace).items == ()


@pytest.mark.usefixtures("template")
def test_a_pod_without_the_gate_keeps_its_template_and_runs(here: Controlled) -> None:
    here.pod(user("plain", [BY_TEMPLATE]))

    seen = here.sees("plain")

    assert here.read("plain")["spec"]["resourceClaims"] == [BY_TEMPLATE]
    assert len([name for name in seen if name.startswith("/dev/nvidia-caps/")]) == 2


def test_two_pods_share_the_device_of_one_claim_until_the_second_has_ended(here: Controlled) -> None:
    here.api.create(RESOURCE_CLAIMS, OBJECTS, here.namespace)
    for name in ("first", "second"):
        here.pod(user(name, [BY_NAME], schedulingGates=GATED))

    both = [here.sees(name) for name in ("first", "second")]
    ours, theirs = ({name: one[name] for name in one if name.startswith("TANGRAM_DEVICE")} for one in both)
    here.api.delete(PODS, "first", here.namespace)

    def reserved() -> list[str]:
        status = here.api.get(RESOURCE_CLAIMS, "half", here.namespace).document["status"]
        return [one["name"] for one in status["reservedFor"]]

    eventually(lambda: reserved() == ["second"], "only the second pod holds the claim")
    assert ours == theirs != {}
    assert here.given("second")["half"]
    here.end("second")


def test_a_pod_that_fits_nowhere_is_told_so_and_runs_when_a_device_is_given_back(here: Controlled) -> None:
    wanted = {"deviceClassName": "gpu.tangram.dev", "count": 5}
    spec = {"devices": {"requests": [{"name": "gpus", "exactly": wanted}]}}
    for name in ("one", "two"):
        here.api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, here.namespace)
    here.pod(user("one", [{"name": "c", "resourceClaimName": "one"}], schedulingGates=GATED))
    here.sees("one")
    here.pod(user("two", [{"name": "c", "resourceClaimName": "two"}], schedulingGates=GATED))

    assert "needs 5 devices, and only 3 of the 8 that match are free" in here.waits("two")
    here.api.delete(PODS, "one", here.namespace)

    assert len([name for name in here.sees("two") if re.fullmatch(r"/dev/nvidia\d", name)]) == 5


@pytest.mark.parametrize(
    ("name", "given", "seen"),
    [
        ("joint", {"gpu": 4, "vf": 2}, {r"/dev/nvidia\d": 4, r"/dev/infiniband/uverbs\d+": 2}),
        ("same-pcie-exclusive", {"gpu": 4, "vf": 2}, {r"/dev/nvidia\d": 4, r"/dev/infiniband/uverbs\d+": 2}),
        ("two-vfs", {"vf": 2}, {r"/dev/nvidia\d": 0, r"/dev/infiniband/uverbs\d+": 2}),
        ("all-nics", {"nic": 8}, {r"/dev/nvidia\d": 0, r"/dev/infiniband/uverbs\d+": 8}),
    ],
)
def test_the_example_of_the_proposal_runs_with_its_devices(
    here: Controlled, name: str, given: dict[str, int], seen: dict[str, int]
) -> None:
    here.pod(example(f"pods/{name}.yaml"))

    names = here.sees(name)

    assert {request: len(devices) for request, devices in here.given(name).items()} == given
    for pattern, count in seen.items():
        assert len([one for one in names if re.fullmatch(pattern, one)]) == count, pattern
    (container,) = here.read(name)["spec"]["containers"]
    assert set(container["resources"]) <= {"claims", "requests", "limits"}
    assert "koordinator" not in str(container["resources"])


@pytest.fixture
def table(here: Controlled) -> Iterator[None]:
    """Give the node the example's label and table of GPU partitions; take both away afterwards."""
    wanted = example("pods/node-with-partitions.yaml", "Node")["metadata"]
    labels = {"node.koordinator.sh/gpu-partition-policy": "Honor"}
    annotations = dict(wanted["annotations"])
    here.api.patch(NODES, here.node, {"metadata": {"labels": labels, "annotations": annotations}})
    yield
    nothing = [dict.fromkeys(one) for one in (labels, annotations)]
    here.api.patch(NODES, here.node, {"metadata": {"labels": nothing[0], "annotations": nothing[1]}})


def test_the_example_with_a_partition_waits_where_the_node_has_no_table(here: Controlled) -> None:
    here.pod(example("pods/partition.yaml"))

    assert "the node has no table of partitions" in here.waits("partition")


@pytest.mark.usefixtures("table")
def test_the_example_with_a_partition_gets_the_best_one_of_the_nodes_table(here: Controlled) -> None:
    here.pod(example("pods/partition.yaml"))

    seen = here.sees("partition")

    assert {name for name in seen if re.fullmatch(r"/dev/nvidia\d", name)} == {"/dev/nvidia2", "/dev/nvidia3"}


@pytest.fixture
def classes(here: Controlled) -> Iterator[None]:
    """The resource classes of the example."""
    found = list(yaml.safe_load_all((ROOT / "deploy/examples/resource-classes/classes.yaml").read_text()))
    for one in found:
        here.api.create(RESOURCE_CLASSES, one)
    yield
    for one in found:
        here.api.delete(RESOURCE_CLASSES, one["metadata"]["name"])


@pytest.mark.usefixtures("classes")
def test_the_example_with_resource_classes_waits_for_huge_pages_and_runs_without(here: Controlled) -> None:
    whole = example("resource-classes/pods.yaml")
    limits = whole["spec"]["containers"][0]["resources"]["limits"]
    del limits["cpu"]  # the machine that this runs on has fewer
    without = copy.deepcopy(whole)
    without["metadata"]["name"] = "without"
    del without["spec"]["containers"][0]["resources"]["limits"]["class.tangram.dev/hugepages-1gig"]
    here.pod(whole)
    here.pod(without)

    assert (
        "ResourceClass hugepages-1gig: Kind huge-pages: Tangram publishes no such devices; pods get "
        in here.waits("train")
    )
    assert len([name for name in here.sees("without") if re.fullmatch(r"/dev/nvidia\d", name)]) == 2

    def requested() -> list[int]:
        names = ("nvidia.high.mem", "fast.nic")
        statuses = [here.api.get(RESOURCE_CLASSES, name).document["status"] for name in names]
        return [one["requested"] for one in statuses]

    eventually(lambda: requested() == [2, 1], "the classes say what is requested")
    here.end("train", "without")
    eventually(lambda: requested() == [0, 0], "the classes say that nothing is requested")


def test_a_pod_with_a_wrong_annotation_is_refused_with_one_sentence(here: Controlled) -> None:
    wrong = example("pods/joint.yaml")
    key = "scheduling.koordinator.sh/device-joint-allocate"
    wrong["metadata"]["annotations"][key] = '{"deviceTypes": ["gpu", "tpu"]}'

    with pytest.raises(Invalid, match=r"joint.*deviceTypes.*tpu"):
        here.pod(wrong)


def test_a_claim_of_another_driver_beside_ours_is_kube_schedulers_and_the_pod_runs(
    here: Controlled, kubeconfig: Path
) -> None:
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        driver = f"b{uuid.uuid4().hex[:6]}.example.com"
        other = PluginSite(here.api, here.control, kubeconfig, here.node, driver, Path(folder))
        try:
            with other.published():
                other.start()
                here.api.create(RESOURCE_CLAIMS, other.claim("theirs"), here.namespace)
                here.api.create(RESOURCE_CLAIMS, OBJECTS, here.namespace)
                theirs = {"name": "theirs", "resourceClaimName": "theirs"}
                here.pod(user("both", [BY_NAME, theirs], schedulingGates=GATED))

                seen = here.sees("both")

                assert len([name for name in seen if name.startswith("/dev/nvidia-caps/")]) == 4
                writers = {
                    name: {one["manager"] for one in _fields(here, name) if "f:allocation" in str(one)}
                    for name in ("half", "theirs")
                }
                assert "tangram-controller" in str(writers["half"])
                assert "kube-scheduler" in str(writers["theirs"])
                here.end("both")
        finally:
            other.close()


def _fields(here: Controlled, claim: str) -> list[dict[str, object]]:
    """Return who wrote which fields of a claim."""
    return list(here.api.get(RESOURCE_CLAIMS, claim, here.namespace).document["metadata"]["managedFields"])
