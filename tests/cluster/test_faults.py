"""What goes wrong under a real kubelet: each fault ends in one clear message and leaves nothing half done.

The agent's faults are in test_agent.py; hardware that fails, processes that die and nodes that reboot are in
test_plugin_under_kubelet.py.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster_support import Document, eventually, phase, pod, running
from launcher.client import ClusterControl
from meddling_proxy import MeddlingProxy, meddling_proxy
from plugin_support import PluginSite

from kube_api import EVENTS, PODS, RESOURCE_CLAIMS, KubeApi

FINALIZER = "resource.kubernetes.io/delete-protection"
ALLOCATED_AT = "2026-01-01T00:00:00Z"
CDI = "/run/cdi"
WRITES_OF_CLAIMS = "PATCH namespaces"  # as the proxy counts them


@pytest.fixture
def make_site(
    api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str
) -> Iterator[Callable[[], PluginSite]]:
    """Make drivers of their own on the node; no plugin runs yet."""
    with ExitStack() as opened:

        def made() -> PluginSite:
            folder = Path(opened.enter_context(TemporaryDirectory(prefix="tg-", dir="/var/tmp")))
            driver = f"f{uuid.uuid4().hex[:6]}.tangram.dev"
            site = PluginSite(api, control, kubeconfig, node, driver, folder)
            opened.enter_context(site.published())
            opened.callback(site.close)
            return site

        yield made


@pytest.fixture
def site(make_site: Callable[[], PluginSite]) -> PluginSite:
    return make_site()


@pytest.fixture
def behind(site: PluginSite, kubeconfig: Path) -> Iterator[MeddlingProxy]:
    """The site's plugin reaches the API server through a proxy that can refuse."""
    with meddling_proxy(kubeconfig) as proxy:
        site.kubeconfig = site.folder / "kubeconfig"
        site.kubeconfig.write_text(json.dumps(proxy.kubeconfig))
        yield proxy


def ask(api: KubeApi, namespace: str, claim: Document) -> None:
    """Make a claim and a pod with it."""
    api.create(RESOURCE_CLAIMS, claim, namespace)
    command = ("sh", "-c", "env; exec sleep 100000")
    api.create(PODS, pod("p", command=command, claims={"gpu": claim["metadata"]["name"]}), namespace)


def notes(api: KubeApi, namespace: str, reason: str, kind: str) -> list[str]:
    """Return what events say about objects of a kind."""
    found = (event.document for event in api.list(EVENTS, namespace).items)
    return [
        str(event.get("note"))
        for event in found
        if event.get("reason") == reason and event["regarding"]["kind"] == kind
    ]


def note_on_claim(api: KubeApi, site: PluginSite, namespace: str) -> str:
    """Wait for the plugin's event on the claim, which its log says too, and return the one sentence."""
    said = eventually(
        lambda: notes(api, namespace, "PrepareFailed", "ResourceClaim"),
        f"an event on the claim; {site.log()[-2000:]}",
        90.0,
    )
    assert said[0] in site.log()
    return said[0]


@pytest.mark.parametrize("status", [429, 500])
def test_a_server_that_refuses_the_plugin_is_told_on_the_claim_and_the_pod_runs_once_it_answers(
    api: KubeApi, site: PluginSite, behind: MeddlingProxy, namespace: str, status: int
) -> None:
    site.start()
    behind.refuse(status, times=2)  # the first call and its one repetition: the kubelet calls again

    ask(api, namespace, site.claim("c"))

    note = note_on_claim(api, site, namespace)
    assert note.startswith(f"cannot read claim {namespace}/c: meddled with ({status}")
    assert "it is retried" in note
    running(api, "p", namespace, 120.0)
    site.delete_pod(namespace, "p")
    assert site.nothing_is_left()


def test_while_the_api_server_is_gone_pods_keep_their_partitions_and_a_plugin_that_starts_waits_for_it(
    api: KubeApi, site: PluginSite, control: ClusterControl, namespace: str
) -> None:
    first = site.start()
    ask(api, namespace, site.claim("c"))
    before = running(api, "p", namespace)["status"]["containerStatuses"][0]["containerID"]
    instances = site.instances()

    control.stop("apiserver")
    site.stop(first)
    second = site.start()
    assert second.poll() is None
    assert site.instances() == instances
    control.start("apiserver")

    assert running(api, "p", namespace)["status"]["containerStatuses"][0]["containerID"] == before
    eventually(lambda: site.status_devices(namespace, "c"), "the claim's status tells the device", 60.0)
    assert "Traceback" not in site.log()
    site.delete_pod(namespace, "p")
    assert site.nothing_is_left()


def test_a_plugin_that_cannot_tell_of_its_claims_tries_again_without_a_word_for_each_attempt(
    api: KubeApi, site: PluginSite, behind: MeddlingProxy, namespace: str
) -> None:
    first = site.start()
    ask(api, namespace, site.claim("c"))
    running(api, "p", namespace)
    eventually(lambda: site.status_devices(namespace, "c"), "the claim's status tells the device", 60.0)
    site.stop(first)
    tried = behind.asked[WRITES_OF_CLAIMS]

    behind.refuse(503, 6, WRITES_OF_CLAIMS)
    site.start()

    eventually(lambda: behind.asked[WRITES_OF_CLAIMS] > tried + 6, "it has told of the claim", 60.0)
    assert site.log().count("WARNING") <= 1, site.log()
    site.delete_pod(namespace, "p")
    assert site.nothing_is_left()


def test_of_a_claim_with_devices_of_two_drivers_each_prepares_its_own(
    api: KubeApi, make_site: Callable[[], PluginSite], namespace: str
) -> None:
    sites = (make_site(), make_site())
    claim = sites[0].claim("c")
    for number, one in enumerate(sites):
        one.start()
        (request,) = one.claim("c")["spec"]["devices"]["requests"]
        claim["spec"]["devices"]["requests"][number:] = [{**request, "name": f"r{number}"}]

    ask(api, namespace, claim)
    running(api, "p", namespace)

    for one in sites:
        (instance,) = one.instances()
        (told,) = eventually(lambda one=one: one.status_devices(namespace, "c"), "its status", 60.0)
        assert told["data"]["uuid"] == instance.compute_instances[0].uuid
    sites[0].delete_pod(namespace, "p")
    assert all(one.nothing_is_left() for one in sites)


def allocate(api: KubeApi, site: PluginSite, namespace: str, devices: Sequence[str]) -> None:
    """Make a claim and allocate it as a controller does, whatever the node has."""
    results = [
        {"request": "half", "driver": site.driver, "pool": site.node, "device": name} for name in devices
    ]
    field = {"key": "metadata.name", "operator": "In", "values": [site.node]}
    allocation = {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        "allocationTimestamp": ALLOCATED_AT,
    }
    claim = site.claim("c")
    claim["metadata"]["finalizers"] = [FINALIZER]
    stored = api.create(RESOURCE_CLAIMS, claim, namespace).document
    document = {**stored, "status": {"allocation": allocation}}
    api.replace(RESOURCE_CLAIMS, document, namespace, subresource="status")


def test_an_allocation_that_names_a_device_nobody_has_is_told_on_claim_and_pod_and_leaves_nothing(
    api: KubeApi, site: PluginSite, namespace: str
) -> None:
    site.start()
    allocate(api, site, namespace, ["gpu-9-mig-3g-20gb-0-3"])

    api.create(PODS, pod("p", claims={"gpu": "c"}), namespace)

    note = note_on_claim(api, site, namespace)
    assert f"claim {namespace}/c" in note
    assert "gpu-9-mig-3g-20gb-0-3" in note
    assert "check the agent" in note
    assert eventually(
        lambda: [one for one in notes(api, namespace, "FailedPrepareDynamicResources", "Pod") if note in one],
        "the kubelet's event on the pod says it too",
    )
    assert phase(api, "p", namespace) == "Pending"
    assert site.instances() == []
    assert site.files() == []
    site.delete_pod(namespace, "p")
    assert site.nothing_is_left()


def test_a_cdi_folder_that_cannot_be_written_is_told_on_the_claim_and_nothing_stays_until_it_can(
    api: KubeApi, site: PluginSite, control: ClusterControl, namespace: str
) -> None:
    site.start()
    read_only = ("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", CDI)
    mounted = control.run_on_node(site.node, read_only)
    assert mounted.returncode == 0, mounted.stderr
    try:
        ask(api, namespace, site.claim("c"))

        note = note_on_claim(api, site, namespace)
        assert note.startswith("cannot write ")
        assert "/cdi/" in note
        assert "Read-only file system" in note
        assert f"claim {namespace}/c" in site.log()
        assert "the operator checks the disk and its permissions" in note
        assert phase(api, "p", namespace) == "Pending"
        eventually(lambda: not site.instances(), "what was begun is undone")
    finally:
        control.run_on_node(site.node, ["umount", CDI])

    running(api, "p", namespace, 120.0)
    site.delete_pod(namespace, "p")
    assert site.nothing_is_left()
