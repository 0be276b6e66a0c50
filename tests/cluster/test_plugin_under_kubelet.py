"""The plugin under a real kubelet: pods get their partitions, and whatever dies or goes, nothing leaks."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster_support import eventually, phase, pod, running
from launcher.client import ClusterControl
from plugin_support import PluginSite

from agent.hardware.simulated import parse_fault
from kube_api import EVENTS, PODS, RESOURCE_CLAIMS, ApiError, KubeApi, NotFound


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node; no plugin runs yet."""
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        driver = f"p{uuid.uuid4().hex[:6]}.tangram.dev"
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder))
        with found.published():
            yield found
        found.close()


def identity(api: KubeApi, namespace: str) -> tuple[str, str]:
    """Return the container of the pod that runs, and the MIG device that it was given."""
    status = running(api, "p", namespace)["status"]["containerStatuses"][0]
    (line,) = (line for line in log_of(api, namespace).splitlines() if "TANGRAM_DEVICE" in line)
    return status["containerID"], line


def log_of(api: KubeApi, namespace: str) -> str:
    def said() -> str:
        try:
            return api.raw_get(f"/api/v1/namespaces/{namespace}/pods/p/log")
        except ApiError as error:  # a kubelet that has just come back does not know its pods yet
            raise AssertionError(str(error)) from error

    return eventually(said, "the pod's log")


@pytest.fixture
def make_pod(api: KubeApi, site: PluginSite, namespace: str) -> Callable[[], str]:
    """Make a claim and a pod with it, and return its namespace."""

    def made() -> str:
        api.create(RESOURCE_CLAIMS, site.claim("c"), namespace)
        command = ("sh", "-c", "env; exec sleep 100000")
        api.create(PODS, pod("p", command=command, claims={"gpu": "c"}), namespace)
        return namespace

    return made


def test_a_pod_gets_its_partition_its_claim_says_so_and_both_end_together(
    api: KubeApi, site: PluginSite, make_pod: Callable[[], str]
) -> None:
    site.start()
    one_pod = make_pod()

    _, line = identity(api, one_pod)
    (instance,) = site.instances()
    (told,) = eventually(lambda: site.status_devices(one_pod, "c"), "the claim's status tells the device")
    site.delete_pod(one_pod, "p")

    assert line.endswith(instance.compute_instances[0].uuid)
    assert told["data"]["uuid"] == instance.compute_instances[0].uuid
    assert (told["conditions"][0]["type"], told["conditions"][0]["status"]) == ("Ready", "True")
    assert site.nothing_is_left()
    eventually(lambda: not site.status_devices(one_pod, "c"), "the claim's status tells nothing any more")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_plugin_that_restarts_under_a_running_pod_goes_on_with_it(
    api: KubeApi, site: PluginSite, make_pod: Callable[[], str], number: int
) -> None:
    first = site.start()
    one_pod = make_pod()
    before = identity(api, one_pod)

    site.stop(first, number)
    site.start()

    assert identity(api, one_pod) == before
    site.delete_pod(one_pod, "p")
    assert site.nothing_is_left()


def test_a_pod_that_ends_while_no_plugin_runs_is_undone_by_the_next_one(
    api: KubeApi, site: PluginSite, make_pod: Callable[[], str]
) -> None:
    first = site.start()
    one_pod = make_pod()
    running(api, "p", one_pod)
    site.stop(first)
    api.delete(PODS, "p", one_pod)

    site.start()

    assert site.nothing_is_left()
    site.delete_pod(one_pod, "p")


def test_a_kubelet_that_restarts_finds_the_plugin_again(
    api: KubeApi, site: PluginSite, control: ClusterControl, make_pod: Callable[[], str]
) -> None:
    site.start()
    one_pod = make_pod()
    before = identity(api, one_pod)

    control.kill(f"kubelet-{site.node}")
    control.start(f"kubelet-{site.node}")

    assert identity(api, one_pod) == before
    site.delete_pod(one_pod, "p")
    assert site.nothing_is_left()


def test_a_pod_that_is_deleted_by_force_leaves_nothing(
    api: KubeApi, site: PluginSite, control: ClusterControl, make_pod: Callable[[], str]
) -> None:
    site.start()
    one_pod = make_pod()
    running(api, "p", one_pod)

    control.run_on_node(
        site.node,
        [
            *("kubectl", "--kubeconfig", str(site.kubeconfig), "-n", one_pod),
            *("delete", "pod", "p", "--force", "--grace-period=0"),
        ],
    )

    assert site.nothing_is_left()
    site.delete_pod(one_pod, "p")


def test_a_claim_that_is_deleted_under_its_pod_is_undone_when_the_pod_ends(
    api: KubeApi, site: PluginSite, make_pod: Callable[[], str]
) -> None:
    site.start()
    one_pod = make_pod()
    before = identity(api, one_pod)

    api.patch(RESOURCE_CLAIMS, "c", {"metadata": {"finalizers": None}}, one_pod)
    api.delete(RESOURCE_CLAIMS, "c", one_pod)
    with pytest.raises(NotFound):
        api.get(RESOURCE_CLAIMS, "c", one_pod)

    assert identity(api, one_pod) == before
    site.delete_pod(one_pod, "p")
    assert site.nothing_is_left()


def test_a_node_that_reboots_prepares_its_pods_anew(
    api: KubeApi, site: PluginSite, control: ClusterControl, make_pod: Callable[[], str]
) -> None:
    first = site.start()
    one_pod = make_pod()
    (container, line) = identity(api, one_pod)

    first.kill()
    first.wait()
    site.machine.reboot()
    control.reboot(site.node)
    site.start()

    def is_new() -> bool:
        return identity(api, one_pod)[0] != container

    eventually(is_new, f"a new container; {site.log()[-3000:]}", 120.0)
    (instance,) = site.instances()
    assert identity(api, one_pod)[1].endswith(instance.compute_instances[0].uuid)
    assert identity(api, one_pod)[1] != line
    site.delete_pod(one_pod, "p")
    assert site.nothing_is_left()


def test_two_versions_serve_at_once_and_each_takes_only_its_own_sockets_along(
    api: KubeApi, site: PluginSite, make_pod: Callable[[], str]
) -> None:
    old_uid, new_uid = str(uuid.uuid4()), str(uuid.uuid4())
    old = site.start(old_uid)
    one_pod = make_pod()
    before = identity(api, one_pod)

    new = site.start(new_uid)
    both = site.sockets()
    status = site.stop(old)
    left = site.sockets()

    assert status == 0
    assert len(both) == 4
    assert left == {name for name in both if new_uid in name}
    assert identity(api, one_pod) == before
    site.delete_pod(one_pod, "p")
    assert site.nothing_is_left()
    assert site.stop(new) == 0
    assert site.sockets() == set()


def test_the_kubelet_calls_the_version_that_registered_last(
    api: KubeApi, site: PluginSite, make_pod: Callable[[], str]
) -> None:
    old_uid, new_uid = str(uuid.uuid4()), str(uuid.uuid4())
    site.start(old_uid)
    site.start(new_uid)

    one_pod = make_pod()
    running(api, "p", one_pod)

    older, newest = ((site.folder / f"plugin-{index}.log").read_text() for index in (0, 1))
    assert f"claim {one_pod}/c" in newest
    assert f"claim {one_pod}/c" not in older
    site.delete_pod(one_pod, "p")
    assert site.nothing_is_left()


def test_a_lost_gpu_is_seen_in_the_status_of_its_pod_and_takes_nothing_from_it(
    api: KubeApi, site: PluginSite, make_pod: Callable[[], str]
) -> None:
    site.start()
    one_pod = make_pod()
    running(api, "p", one_pod)

    def health() -> str:
        status = api.get(PODS, "p", one_pod).document["status"]["containerStatuses"][0]
        told = [one for entry in status.get("allocatedResourcesStatus", ()) for one in entry["resources"]]
        return told[0]["health"] if told else ""

    eventually(lambda: health() == "Healthy", "the pod's device is healthy", 60.0)
    lost = site.instances()[0].parent
    minor = next(card.minor for card in site.machine.node.cards if card.uuid == lost)
    site.machine.inject(parse_fault(f"gpu-{minor}:lost"))
    eventually(lambda: health() == "Unhealthy", "the pod's device is unhealthy", 60.0)
    site.machine.clear_faults()
    eventually(lambda: health() == "Healthy", "the pod's device is healthy again", 60.0)

    site.delete_pod(one_pod, "p")
    assert site.nothing_is_left()


def test_a_failure_is_told_on_the_claim_and_in_its_status_and_the_pod_runs_once_it_is_mended(
    api: KubeApi, site: PluginSite, make_pod: Callable[[], str]
) -> None:
    for minor in (0, 1):
        site.machine.inject(parse_fault(f"gpu-{minor}:create-gpu-instance:hardware-fault"))
    site.start()
    one_pod = make_pod()

    def warning() -> str:
        notes = [
            str(event.document.get("note"))
            for event in api.list(EVENTS, one_pod).items
            if event.document.get("reason") == "PrepareFailed"
            and event.document["regarding"]["kind"] == "ResourceClaim"
        ]
        return notes[0] if notes else ""

    def ready() -> tuple[str, str]:
        devices = site.status_devices(one_pod, "c")
        conditions = devices[0]["conditions"] if devices else [{"status": "", "message": ""}]
        return conditions[0]["status"], conditions[0]["message"]

    note = eventually(warning, f"an event; {site.log()[-2000:]}", 60.0)
    eventually(lambda: ready() == ("False", note), "the claim's status tells why")
    assert f"claim {one_pod}/c" in note
    assert "hardware-fault was injected" in note
    assert phase(api, "p", one_pod) == "Pending"
    assert site.instances() == []

    site.machine.clear_faults()

    running(api, "p", one_pod, 120.0)
    eventually(lambda: ready()[0] == "True", "the claim's status tells that it works")
    site.delete_pod(one_pod, "p")
    assert site.nothing_is_left()
