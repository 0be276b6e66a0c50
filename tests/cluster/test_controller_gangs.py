"""Groups of pods beside a real kube-scheduler: all members get devices together, or none does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from cluster_support import Document, eventually
from crd_support import DEFINITIONS
from fleet import Fleet, controller
from launcher.client import ClusterControl
from story import DRIVER

from controller.api import POD_GROUPS
from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, KubeApi, Limits, NotFound
from scheduler_core.model.ownership import CONDITION, GATE

pytestmark = pytest.mark.layout
OF_PLUGINS, _, OF_SERVER = POD_GROUPS
PIECE = "piece-of-a-gpu"
KOORDINATOR = "gang.scheduling.koordinator.sh"
HEARD_S = 2 * Limits().watch_longest_delay_s  # a kind that the server lacked is asked for that seldom


@pytest.fixture(scope="module")
def control(kubeconfig: Path, api: KubeApi) -> Iterator[ClusterControl]:
    """The parts of the launcher's cluster; kube-scheduler and API server know PodGroups where they can.

    Control is needed: the controller would disturb that of a user.
    """
    if not os.environ.get("TANGRAM_CLUSTER"):
        pytest.skip("needs control over the cluster: make test-cluster, without KUBECONFIG")
    if minor_version(api) < 36:
        pytest.skip("needs the feature gate DRADeviceTaints, on from Kubernetes 1.36")
    found = ClusterControl(kubeconfig.parent)
    has_pod_groups = minor_version(api) >= 37
    if has_pod_groups:
        found.set_feature_gates({"GenericWorkload": True})
    yield found
    if has_pod_groups:
        found.set_feature_gates({})


def minor_version(api: KubeApi) -> int:
    return int(api.server_version().split(".")[1])


@pytest.fixture(scope="module")
def pieces(api: KubeApi) -> Iterator[None]:
    """A class of all our devices."""
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    api.create(DEVICE_CLASSES, {"metadata": {"name": PIECE}, "spec": {"selectors": selectors}})
    yield
    api.delete(DEVICE_CLASSES, PIECE)


@pytest.fixture(scope="module")
def of_plugins(control: ClusterControl, api: KubeApi) -> Iterator[None]:
    """The server has the PodGroups of scheduler-plugins, before the controller looks for them."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": OF_PLUGINS.version, "served": True, "storage": True}
    name = f"{OF_PLUGINS.plural}.{OF_PLUGINS.group}"
    spec = {
        "group": OF_PLUGINS.group,
        "scope": "Namespaced",
        "names": {"kind": OF_PLUGINS.kind, "plural": OF_PLUGINS.plural},
        "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
    }
    api.create(DEFINITIONS, {"metadata": {"name": name}, "spec": spec})
    eventually(lambda: is_served(api), "PodGroups are served")
    yield
    api.delete(DEFINITIONS, name)


def is_served(api: KubeApi) -> bool:
    try:
        api.list(OF_PLUGINS)
    except NotFound:
        return False
    return True


@pytest.fixture(scope="module")
def leading(
    control: ClusterControl,
    of_plugins: None,
    pieces: None,
    api: KubeApi,
    kubeconfig: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[None]:
    """The controller leads."""
    with controller(api, kubeconfig, tmp_path_factory.mktemp("controller")):
        yield


@pytest.fixture
def fleet(api: KubeApi, namespace: str, leading: None) -> Iterator[Fleet]:
    """A node of the controller with two GPUs, left and right."""
    found = Fleet(api, namespace)
    found.add(two_gpus())
    yield found
    found.close()


def two_gpus() -> list[Document]:
    """Return the slices of two GPUs, left and right, each whole, which is listed first, or in halves."""

    def piece(side: str, name: str, slices: int) -> Document:
        used = [{"counterSet": side, "counters": {"slices": {"value": str(slices)}}}]
        return {
            "name": f"{side}-{name}",
            "attributes": {"side": {"string": side}},
            "consumesCounters": used,
        }

    pool = {"name": "", "generation": 1, "resourceSliceCount": 2}
    sides = ("left", "right")
    counters = [{"name": side, "counters": {"slices": {"value": "2"}}} for side in sides]
    parts = (("whole", 2), ("half-0", 1), ("half-1", 1))
    devices = [piece(side, name, slices) for side in sides for name, slices in parts]
    common = {"driver": DRIVER, "pool": pool}
    return [{"spec": {**common, "sharedCounters": counters}}, {"spec": {**common, "devices": devices}}]


def claim(fleet: Fleet, name: str, side: str = "") -> None:
    """Create a claim for one piece of a GPU, whole or half, of one side or of any."""
    expression = f'device.attributes["{DRIVER}"].side == "{side}"'
    selectors = {"selectors": [{"cel": {"expression": expression}}]} if side else {}
    request = {"name": "r", "exactly": {"deviceClassName": PIECE, **selectors}}
    document = {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
    fleet.api.create(RESOURCE_CLAIMS, document, fleet.namespace)


def pod(fleet: Fleet, name: str, **spec: object) -> Document:
    """Return a pod at our gate, with the claim of its name."""
    return fleet.pod(name, name, schedulingGates=[{"name": GATE}], **spec)


def create(fleet: Fleet, *pods: Document) -> None:
    for one in pods:
        fleet.api.create(PODS, one, fleet.namespace)


def condition(fleet: Fleet, name: str, kind: str) -> Document:
    """Return a condition of a pod, empty where it does not have it."""
    found = fleet.api.get(PODS, name, fleet.namespace).document.get("status", {}).get("conditions", [])
    return next((dict(one) for one in found if one["type"] == kind), {})


def all_bound(fleet: Fleet, *names: str) -> bool:
    return all(map(fleet.node_of, names))


# A gang that fits only if its choices of devices are made together


def gang_of_four(fleet: Fleet, prefix: str, **spec: object) -> list[str]:
    """Create a PodGroup and its pods, two for any piece and two for pieces of the left GPU.

    Shape: returns their names.
    Whoever is first, and takes the first piece that will do, takes the whole left GPU, in whatever order.
    """
    policy = {"schedulingPolicy": {"gang": {"minCount": 4}}}
    fleet.api.create(OF_SERVER, {"metadata": {"name": prefix}, "spec": policy}, fleet.namespace)
    names = [f"{prefix}-{number}" for number in range(4)]
    for name, side in zip(names, ("", "", "left", "left"), strict=True):
        claim(fleet, name, side)
        create(fleet, fleet.pod(name, name, schedulingGroup={"podGroupName": prefix}, **spec))
    return names


def test_a_pod_group_of_4_that_fits_by_one_choice_of_devices_is_bound_by_us_and_waits_with_kube_scheduler(
    api: KubeApi, fleet: Fleet
) -> None:
    if minor_version(api) < 37:
        pytest.skip("needs PodGroups of scheduling.k8s.io/v1beta1, which Kubernetes 1.37 has")
    ours = gang_of_four(fleet, "ours", schedulingGates=[{"name": GATE}])
    eventually(lambda: all_bound(fleet, *ours), "all members are bound", 60)
    given = [device for name in ours for _, device in fleet.devices_of(name)]
    assert len(set(given)) == 4
    assert set(given[2:]) == {"left-half-0", "left-half-1"}

    theirs = Fleet(fleet.api, fleet.namespace)
    theirs.add(two_gpus(), is_ours=False)
    claim(theirs, "first")
    create(theirs, theirs.pod("first", "first"))
    eventually(lambda: theirs.node_of("first"), "kube-scheduler knows these devices", 60)
    assert [device for _, device in theirs.devices_of("first")] == ["left-whole"]
    theirs.api.delete(PODS, "first", theirs.namespace)
    eventually(lambda: not theirs.devices_of("first"), "all devices are free again", 60)
    waiting = gang_of_four(theirs, "theirs")
    eventually(lambda: all(map(partial(is_unschedulable, theirs), waiting)), "all members were tried", 60)
    assert not any(map(theirs.node_of, waiting))
    assert not any(map(theirs.devices_of, waiting))
    theirs.close()


def is_unschedulable(fleet: Fleet, name: str) -> bool:
    return condition(fleet, name, "PodScheduled").get("reason") == "Unschedulable"


# What makes a group, and what is left of it


def in_group(one: Document, how: str, minimum: int) -> Document:
    """Return a pod as a member of the group."""
    if how == "label":
        one["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "group"}
    else:
        annotations = {f"{KOORDINATOR}/name": "group", f"{KOORDINATOR}/min-available": str(minimum)}
        one["metadata"]["annotations"] = annotations
    return one


@pytest.mark.timeout(240)
@pytest.mark.parametrize("how", ["annotation", "label"])
def test_the_annotation_of_koordinator_and_the_label_of_scheduler_plugins_hold_pods_until_all_are_there(
    fleet: Fleet, how: str
) -> None:
    group = {"metadata": {"name": "group"}, "spec": {"minMember": 2}}
    fleet.api.create(OF_PLUGINS, group, fleet.namespace)
    for name in "ab":
        claim(fleet, name)
    create(fleet, in_group(pod(fleet, "a"), how, 2))
    eventually(lambda: "1 of the 2 members" in told(fleet, "a"), "the first waits for the other", HEARD_S)
    assert fleet.devices_of("a") == []
    create(fleet, in_group(pod(fleet, "b"), how, 2))
    eventually(lambda: all_bound(fleet, *"ab"), "both are bound", 60)


def told(fleet: Fleet, name: str) -> str:
    return str(condition(fleet, name, CONDITION).get("message", ""))


def test_a_group_that_half_disappeared_gives_back_what_is_not_bound_and_gets_devices_with_a_new_member(
    fleet: Fleet,
) -> None:
    """Pods of a scheduler that does not run hold their devices, while kube-scheduler binds the first one."""
    for name in "abcd":
        claim(fleet, name)
    others = {"schedulerName": "other-scheduler"}
    create(fleet, in_group(pod(fleet, "a"), "annotation", 3))
    create(fleet, *(in_group(pod(fleet, name, **others), "annotation", 3) for name in "bc"))
    eventually(lambda: fleet.node_of("a") and all(map(fleet.devices_of, "abc")), "all have devices", 60)
    kept = fleet.devices_of("a")

    fleet.api.delete(PODS, "c", fleet.namespace)
    eventually(lambda: not fleet.devices_of("b") and not fleet.devices_of("c"), "what is not bound is free")
    assert fleet.devices_of("a") == kept

    create(fleet, in_group(pod(fleet, "d"), "annotation", 3))
    eventually(lambda: fleet.node_of("d") and fleet.devices_of("b"), "the group is whole again", 60)
    assert fleet.devices_of("a") == kept
    assert fleet.doubles() == []
