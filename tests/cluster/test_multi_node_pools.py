"""Pools that no node owns in a real cluster: objects, slices, rights, and pods that share one device."""

from __future__ import annotations

import copy
import json
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from cluster_support import Document, eventually, pod
from crd_support import POOLS, ROOT, installed_definition
from launcher.client import ClusterControl

from controller.pools.loop import PoolLoop
from controller.pools.own_gpus import OwnGpus
from controller.pools.publisher import PoolPublisher
from controller.pools.writing import PoolWriting
from controller.pools_api import ApiInUse, ApiPools, ApiPoolSlices
from kube_api import (
    DEVICE_CLASSES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    AlreadyExists,
    ApiError,
    Invalid,
    KubeApi,
    Limits,
    NotFound,
    Resource,
)
from scheduler_core.codec import v1
from scheduler_core.model.pool import Pool

pytestmark = pytest.mark.layout

ACCOUNTS = Resource.of("v1", "ServiceAccount", "serviceaccounts", namespaced=True)
MANIFESTS = ROOT / "deploy/manifests/multi-node-pools"
EXAMPLE = ROOT / "deploy/examples/multi-node/tpus.yaml"
OWN = "tangram.dev"


@pytest.fixture(scope="module", autouse=True)
def installed(api: KubeApi) -> Iterator[None]:
    with installed_definition(api, POOLS):
        yield


def tpus() -> Document:
    """The example under a name, a driver and labels of nodes of its own."""
    name = f"tpus-{uuid.uuid4().hex[:8]}"
    text = EXAMPLE.read_text().replace("tpu.example.com", f"{name}.example").replace("node-", f"{name}-")
    found: Document = yaml.safe_load(text)
    found["metadata"]["name"] = name
    return found


class Site:
    """The loop of one controller, as a user, and the objects that a test makes."""

    def __init__(self, api: KubeApi) -> None:
        self.api = api
        self.made: list[str] = []

    def create(self, document: Document) -> str:
        stored = self.api.create(POOLS, document)
        self.made.append(stored.metadata.name)
        return stored.metadata.name

    def pool(self, name: str) -> Pool | None:
        """The published pool, None where there is none."""
        slices = [
            v1.decode_slice(one.document)
            for one in self.api.list(
                RESOURCE_SLICES, label_selector=f"tangram.dev/multi-node-pool={name}"
            ).items
        ]
        return next(iter(v1.pools(slices)), None)

    def status(self, name: str) -> Document:
        return dict(self.api.get(POOLS, name).document.get("status", {}))

    def told(self, name: str) -> tuple[str, str]:
        """Wait until the status speaks of the object as it is, and return its condition."""
        generation = self.api.get(POOLS, name).document["metadata"]["generation"]
        eventually(lambda: self.status(name).get("observedGeneration") == generation, "its status")
        (condition,) = self.status(name)["conditions"]
        return condition["status"], condition["message"]


def loop_of(api: KubeApi) -> PoolLoop:
    pools, slices = ApiPools(api), ApiPoolSlices(api)
    writing, in_use = PoolWriting(slices), ApiInUse(api, OWN, lambda: (), lambda: None)
    own = OwnGpus(
        writing,
        in_use=in_use,
        write_finalizers=pools.write_finalizers,
        driver=OWN,
        clock=time.monotonic,
    )
    publisher = PoolPublisher(writing, pools.write_status, own, OWN)
    return PoolLoop(publisher, pools, slices, lambda: "2026-01-01T00:00:00Z")


@pytest.fixture
def site(api: KubeApi) -> Iterator[Site]:
    """A controller's loop that runs; all pools are gone after the test."""
    made, loop = Site(api), loop_of(api)
    thread = Thread(target=loop.run, daemon=True)
    thread.start()
    yield made
    for name in made.made:
        with suppress(NotFound):
            api.delete(POOLS, name)
        eventually(lambda one=name: made.pool(one) is None, "its slices are gone")  # type: ignore[misc]
    loop.stop()
    thread.join(30)


def test_the_tpus_of_the_proposal_are_published_whole(site: Site, kubectl: Callable[..., str]) -> None:
    document = tpus()
    name = site.create(document)

    assert site.told(name) == ("True", "")
    pool = site.pool(name)

    assert pool is not None
    assert (pool.is_complete, pool.problem, len(pool.devices)) == (True, None, 31)
    assert pool.id.name == f"multi-node/{name}"
    head, line = (one.split() for one in kubectl("get", "mnpool", name).splitlines())
    assert head == ["NAME", "DRIVER", "DEVICES", "PUBLISHED", "AGE"]
    assert line[:4] == [name, document["spec"]["driver"], "31", "True"]


def test_an_object_that_changes_and_goes_takes_its_pool_along(site: Site, api: KubeApi) -> None:
    name = site.create(tpus())
    site.told(name)

    stored = copy.deepcopy(dict(api.get(POOLS, name).document))
    stored["spec"]["devices"].pop()
    api.replace(POOLS, stored)

    assert site.told(name) == ("True", "")
    pool = site.pool(name)
    assert pool is not None
    assert (len(pool.devices), pool.is_complete) == (30, True)
    assert site.status(name)["devices"] == 30

    api.delete(POOLS, name)
    eventually(lambda: site.pool(name) is None, "its slices are gone")


def test_a_mistake_is_told_in_the_status_and_publishes_nothing(site: Site) -> None:
    document = tpus()
    document["spec"]["devices"][1]["composite"]["consumesCapacityFrom"] = [{"name": "nobody"}]
    name = site.create(document)

    status, message = site.told(name)

    assert status == "False"
    assert "names unknown source 'nobody'" in message
    assert site.pool(name) is None


def with_device(**composite: Any) -> Document:
    document = tpus()
    document["spec"]["devices"] = [{"name": "d", "composite": composite}]
    return document


def renamed(name: str) -> Document:
    document = tpus()
    document["metadata"]["name"] = name
    return document


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        (with_device(), "exactly one of nodeName, nodeSelector and allNodes"),
        (with_device(nodeName="a", allNodes=True), "exactly one of nodeName, nodeSelector and allNodes"),
        (with_device(nodeName="a", capacity={"m": {"quantity": "much"}}), "should match"),
        (renamed("a.b"), "the name must be a DNS label"),
        ({**tpus(), "spec": {"driver": "a.example", "devices": []}}, "at least 1 item"),
    ],
    ids=["no node", "two selections", "no quantity", "a name with a dot", "no device"],
)
def test_what_the_schema_knows_is_refused_at_once(api: KubeApi, document: Document, rule: str) -> None:
    with pytest.raises(Invalid, match=rule):
        api.create(POOLS, document)


def test_the_driver_of_a_pool_never_changes(site: Site, api: KubeApi) -> None:
    name = site.create(tpus())

    with pytest.raises(Invalid, match="the driver of a pool cannot change"):
        api.patch(POOLS, name, {"spec": {"driver": "other.example"}})


def test_where_the_server_counts_nothing_nothing_is_published_until_it_does(
    site: Site, control: ClusterControl
) -> None:
    before = site.create(tpus())
    assert site.told(before) == ("True", "")

    control.set_feature_gates({"DRAPartitionableDevices": False})
    name = site.create(tpus())
    status, message = site.told(name)

    assert status == "False"
    assert "switch on the feature gate DRAPartitionableDevices" in message
    assert site.pool(name) is None

    control.set_feature_gates({"DRAPartitionableDevices": True})
    eventually(lambda: site.told(name) == ("True", ""), "it is published", 90)
    pool = site.pool(name)
    assert pool is not None
    assert (len(pool.devices), pool.is_complete) == (31, True)


@pytest.mark.parametrize("what", [f"-k={MANIFESTS}", f"-f={ROOT / 'deploy/examples/multi-node'}"])
def test_what_is_shipped_is_taken_by_the_server(kubectl: Callable[..., str], what: str) -> None:
    kubectl("apply", "--dry-run=server", "--validate=strict", what)


@pytest.fixture
def as_controller(
    api: KubeApi, kubeconfig: Path, kubectl: Callable[..., str], tmp_path: Path
) -> Iterator[KubeApi]:
    """The API server as the controller's service account, with the shipped rights and policy alone."""
    for resource, document, namespace in (
        (NAMESPACES, {"metadata": {"name": "tangram-system"}}, None),
        (ACCOUNTS, {"metadata": {"name": "tangram-controller"}}, "tangram-system"),
    ):
        with suppress(AlreadyExists):
            api.create(resource, document, namespace)
    files = [f"--filename={MANIFESTS / name}" for name in ("access.yaml", "admission-policy.yaml")]
    kubectl("apply", *files)
    token = kubectl("create", "token", "tangram-controller", "--namespace=tangram-system").strip()
    config = json.loads(kubectl("config", "view", "--raw", "--flatten", "--minify", "--output=json"))
    config["users"][0]["user"] = {"token": token}
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(config))
    yield KubeApi.connect(file, user_agent="tangram-tests", limits=Limits())
    kubectl("delete", "--ignore-not-found", *files)


def slice_of(pool: str, **selection: Any) -> Document:
    name = f"test-{uuid.uuid4().hex[:8]}"
    return {
        "metadata": {"name": name},
        "spec": {
            "driver": f"{name}.example",
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
            **(selection or {"allNodes": True}),
        },
    }


def is_refused(api: KubeApi, document: Document, words: str) -> bool:
    try:
        api.create(RESOURCE_SLICES, document, dry_run=True)
    except ApiError as error:
        return words in str(error)
    return False


def test_the_controller_writes_slices_of_such_pools_only_and_nobody_else_writes_them(
    api: KubeApi, as_controller: KubeApi
) -> None:
    theirs, ours = slice_of("node-1"), slice_of("multi-node/pool")

    eventually(
        lambda: is_refused(as_controller, theirs, "pools that begin with multi-node/ and no others"),
        "the policy holds",
    )

    assert is_refused(api, ours, "the controller alone may; change the MultiNodePool")
    assert is_refused(as_controller, slice_of("multi-node/pool", nodeName="node-1"), "no node owns")
    assert as_controller.create(RESOURCE_SLICES, ours, dry_run=True)
    assert api.create(RESOURCE_SLICES, theirs, dry_run=True)


def test_the_shipped_rights_are_enough_to_publish(api: KubeApi, as_controller: KubeApi) -> None:
    site, loop = Site(api), loop_of(as_controller)
    thread = Thread(target=loop.run, daemon=True)
    thread.start()
    name = site.create(tpus())

    assert site.told(name) == ("True", "")
    api.delete(POOLS, name)
    eventually(lambda: site.pool(name) is None, "its slices are gone")
    loop.stop()
    thread.join(30)


@pytest.fixture
def sixteen_nodes(api: KubeApi) -> Iterator[Callable[[str], None]]:
    """Make the node objects of an example; no kubelet runs there."""
    made: list[str] = []

    def create(prefix: str) -> None:
        for number in range(1, 17):
            node = f"{prefix}-{number}"
            labels = {"kubernetes.io/hostname": node}
            api.create(NODES, {"metadata": {"name": node, "labels": labels}})
            made.append(node)
            capacity = {"cpu": "8", "memory": "32Gi", "pods": "100"}
            ready = {"type": "Ready", "status": "True", "reason": "Test", "message": ""}
            status = {"capacity": capacity, "allocatable": capacity, "conditions": [ready]}
            api.patch(NODES, node, {"status": status}, subresource="status")

    yield create
    for node in made:
        api.delete(NODES, node)


def test_pods_that_share_one_claim_run_on_the_nodes_of_one_slice_of_the_machine(
    site: Site, api: KubeApi, namespace: str, sixteen_nodes: Callable[[str], None]
) -> None:
    document = tpus()
    name = site.create(document)
    driver = document["spec"]["driver"]
    sixteen_nodes(name)
    site.told(name)
    expression = f'device.driver == "{driver}"'
    api.create(
        DEVICE_CLASSES,
        {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}},
    )
    try:
        machines = [_consumers(api, namespace, name, driver, number) for number in range(4)]

        assert {machine for machine, _ in machines} == {f"tpu-4x4-{number}" for number in range(1, 5)}
        taken = [node for _, nodes in machines for node in nodes]
        assert sorted(taken) == sorted(f"{name}-{number}" for number in range(1, 17))
    finally:
        api.delete(DEVICE_CLASSES, name)


def _consumers(
    api: KubeApi, namespace: str, name: str, driver: str, number: int
) -> tuple[str, tuple[str, ...]]:
    """Make four pods that share a claim for 16 TPUs, each on another node; return device and nodes."""
    claim, labels = f"claim-{number}", {"app": f"app-{number}"}
    expression = f'device.capacity["{driver}"].tpus.compareTo(quantity("16")) == 0'
    exactly = {"deviceClassName": name, "selectors": [{"cel": {"expression": expression}}]}
    requests = {"devices": {"requests": [{"name": "tpus", "exactly": exactly}]}}
    api.create(RESOURCE_CLAIMS, {"metadata": {"name": claim}, "spec": requests}, namespace)
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for index in range(4):
        anywhere = [{"operator": "Exists"}]  # no kubelet says that these nodes are ready
        one = pod(
            f"app-{number}-{index}",
            claims={"tpus": claim},
            affinity=apart,
            hostNetwork=False,
            tolerations=anywhere,
        )
        one["metadata"]["labels"] = labels
        api.create(PODS, one, namespace)
    nodes = tuple(
        eventually(lambda index=index: _node(api, f"app-{number}-{index}", namespace), "it is bound")
        for index in range(4)
    )
    status = api.get(RESOURCE_CLAIMS, claim, namespace).document["status"]
    (result,) = status["allocation"]["devices"]["results"]
    assert len(status["reservedFor"]) == 4
    return str(result["device"]), nodes


def _node(api: KubeApi, name: str, namespace: str) -> str:
    return str(api.get(PODS, name, namespace).document["spec"].get("nodeName", ""))
