"""Under a real kubelet: a claim of two pods, metadata files in a container, a claim with admin access."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cluster_support import eventually, pod, running
from launcher.client import ClusterControl
from plugin_support import PluginSite

from kube_api import NAMESPACES, PODS, RESOURCE_CLAIMS, ApiError, KubeApi, PatchKind

FILES = "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/c/half"
SAYS_ALL = ("sh", "-c", f"env; cat {FILES}/*-metadata.json; exec sleep 100000")
SAYS_ENVIRONMENT = ("sh", "-c", "env; exec sleep 100000")


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node; no plugin runs yet."""
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        driver = f"s{uuid.uuid4().hex[:6]}.tangram.dev"
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder))
        with found.published():
            yield found
        found.close()


def log_of(api: KubeApi, namespace: str, name: str, last: str) -> str:
    """The log of a pod's container, once it has this text."""

    def said() -> str:
        try:
            text = api.raw_get(f"/api/v1/namespaces/{namespace}/pods/{name}/log")
        except ApiError as error:
            raise AssertionError(str(error)) from error
        return text if last in text else ""

    return eventually(said, f"the log of {name} has {last}")


def test_two_pods_of_one_claim_have_one_instance_until_the_second_has_ended(
    api: KubeApi, site: PluginSite, namespace: str
) -> None:
    site.start()
    api.create(RESOURCE_CLAIMS, site.claim("c"), namespace)
    api.create(PODS, pod("first", command=SAYS_ENVIRONMENT, claims={"gpu": "c"}), namespace)
    running(api, "first", namespace)
    before = site.instances()
    api.create(PODS, pod("second", command=SAYS_ENVIRONMENT, claims={"gpu": "c"}), namespace)
    running(api, "second", namespace)

    both = [log_of(api, namespace, name, "TANGRAM_DEVICE") for name in ("first", "second")]
    site.delete_pod(namespace, "first")
    after_first = site.instances()
    site.delete_pod(namespace, "second")

    (instance,) = before
    assert all(instance.compute_instances[0].uuid in text for text in both)
    assert after_first == before
    assert site.nothing_is_left()


def test_a_container_reads_the_facts_of_its_device(api: KubeApi, site: PluginSite, namespace: str) -> None:
    site.start(None, "--device-metadata")
    api.create(RESOURCE_CLAIMS, site.claim("c"), namespace)
    api.create(PODS, pod("p", command=SAYS_ALL, claims={"gpu": "c"}), namespace)

    text = log_of(api, namespace, "p", "v1alpha1")
    (instance,) = site.instances()
    found, _ = json.JSONDecoder().raw_decode(text[text.index("{\n") :])
    ((device,),) = (request["devices"] for request in found["requests"])
    site.delete_pod(namespace, "p")

    assert found["apiVersion"] == "metadata.resource.k8s.io/v1beta1"
    assert found["metadata"]["name"] == "c"
    assert device["attributes"]["uuid"] == {"string": instance.compute_instances[0].uuid}
    assert device["attributes"]["resource.kubernetes.io/pciBusID"]["string"].startswith("0000:")
    assert site.nothing_is_left()


def test_a_monitor_runs_beside_the_pod_that_computes_and_its_end_disturbs_nobody(
    api: KubeApi, site: PluginSite, namespace: str
) -> None:
    site.start()
    api.patch(
        NAMESPACES,
        namespace,
        {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}},
        kind=PatchKind.MERGE,
    )
    # First: kube-scheduler counts what a device consumes also with admin access, so it finds no place later.
    api.create(RESOURCE_CLAIMS, monitors(site), namespace)
    api.create(PODS, pod("monitors", command=SAYS_ENVIRONMENT, claims={"gpus": "all"}), namespace)
    said = log_of(api, namespace, "monitors", "TANGRAM_ADMIN_DEVICE_GPU_0")
    api.create(RESOURCE_CLAIMS, site.claim("c"), namespace)
    api.create(PODS, pod("computes", claims={"gpu": "c"}), namespace)
    running(api, "computes", namespace)
    before = site.instances()

    site.delete_pod(namespace, "monitors")

    assert "TANGRAM_DEVICE_" not in said
    assert site.instances() == before
    site.delete_pod(namespace, "computes")
    assert site.nothing_is_left()


def monitors(site: PluginSite) -> dict[str, Any]:
    """A claim that looks at every whole GPU of the driver."""
    expression = f'device.attributes["{site.driver}"].type == "gpu"'
    wanted = {
        "deviceClassName": site.device_class,
        "selectors": [{"cel": {"expression": expression}}],
        "allocationMode": "All",
        "adminAccess": True,
    }
    return {
        "metadata": {"name": "all"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": wanted}]}},
    }
