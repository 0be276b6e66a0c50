"""CompositeResourceSlices in a real API server: its schema, its limits, its table, and who publishes them."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from agent_support import COMPOSITES, Site, is_installed
from cluster_support import Document, eventually

from agent.hardware.ports import Readers
from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from agent.hardware.sysfs import Sysfs
from agent.inventory import as_mode_allows, describe, discover
from agent.slices import composite_slices, encoded
from kube_api import (
    DEVICE_CLASSES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    ApiError,
    Invalid,
    KubeApi,
    NotFound,
    Resource,
)
from scheduler_core.codec.composite import decode_slice
from scheduler_core.mixins import flatten

pytestmark = pytest.mark.layout
ROOT = Path(__file__).parents[2]
DEFINITIONS = Resource.of(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
DEFINITION = yaml.safe_load((ROOT / "deploy/manifests/base/crd.yaml").read_text())


@pytest.fixture(scope="module", autouse=True)
def installed(api: KubeApi) -> Iterator[None]:
    """The definition as it is shipped; taken away again where it was not there before."""
    was_there = is_installed(api, COMPOSITES)
    if not was_there:
        api.create(DEFINITIONS, DEFINITION)
        eventually(lambda: is_installed(api, COMPOSITES), "the definition is served")
    yield
    if not was_there:
        api.delete(DEFINITIONS, DEFINITION["metadata"]["name"])
        eventually(lambda: not is_installed(api, COMPOSITES), "the definition is gone")


def described(name: str, folder: Path) -> tuple[Document, ...]:
    machine = SimulatedMachine.open(load_node(name), folder / name)
    readers = Readers(machine.gpus, Sysfs(machine.root), ProcBoot(machine.root))
    inventory = discover(readers, f"crd-{uuid.uuid4().hex[:8]}")
    return encoded(composite_slices(describe(as_mode_allows(inventory))))


@pytest.fixture
def store(api: KubeApi) -> Iterator[Callable[[Document], Document]]:
    """Create a slice; it is deleted after the test."""
    made: list[str] = []

    def create(document: Document) -> Document:
        stored = api.create(COMPOSITES, document)
        made.append(stored.metadata.name)
        return dict(stored.document)

    yield create
    for name in made:
        api.delete(COMPOSITES, name)


@pytest.fixture
def slice_(tmp_path: Path) -> Document:
    """A sound slice with mixins, a GPU and its partitions."""
    return copy.deepcopy(described("a100x2", tmp_path)[0])


@pytest.mark.parametrize("name", shipped_nodes())
def test_every_shipped_machine_is_stored_and_read_back_the_same(
    name: str, tmp_path: Path, store: Callable[[Document], Document]
) -> None:
    sent = described(name, tmp_path)

    stored = [store(one) for one in sent]

    assert flatten([decode_slice(one) for one in stored]) == flatten([decode_slice(one) for one in sent])


def many(slice_: Document, devices: int, mixins: int) -> None:
    slice_["spec"]["devices"] = [{"name": f"d-{index}", "composite": {}} for index in range(devices)]
    slice_["spec"]["deviceMixins"] = [{"name": f"m-{index}", "composite": {}} for index in range(mixins)]


def of_first(slice_: Document, **fields: Any) -> None:
    slice_["spec"]["devices"][0]["composite"].update(fields)


def attributes(count: int) -> dict[str, Any]:
    return {f"a{index}": {"int": index} for index in range(count)}


def capacities(count: int) -> dict[str, Any]:
    return {f"c{index}": {"quantity": "1Gi"} for index in range(count)}


WRONG: dict[str, tuple[Callable[[Document], object], str]] = {
    "128 mixins and devices": (lambda s: many(s, 100, 28), "fewer than 128"),
    "more than 32 properties": (
        lambda s: of_first(s, attributes=attributes(20), capacity=capacities(13)),
        "at most 32 attributes and capacities",
    ),
    "nine includes": (
        lambda s: of_first(s, includes=[{"name": f"m-{index}"} for index in range(9)]),
        "at most 8 items",
    ),
    "nine sources": (
        lambda s: of_first(s, consumesCapacityFrom=[{"name": f"d-{index}"} for index in range(9)]),
        "at most 8 items",
    ),
    "no node": (lambda s: s["spec"].pop("nodeName"), "exactly one of nodeName"),
    "two node selections": (lambda s: s["spec"].update(allNodes=True), "exactly one of nodeName"),
    "a node that nobody delegated": (
        lambda s: of_first(s, nodeName="elsewhere"),
        "exactly when the slice has nodeSelectionDelegated",
    ),
    "a delegated slice without nodes": (
        lambda s: (s["spec"].pop("nodeName"), s["spec"].update(nodeSelectionDelegated=True)),
        "exactly when the slice has nodeSelectionDelegated",
    ),
    "basic and composite": (
        lambda s: s["spec"]["devices"][0].update(basic={}),
        "exactly one of basic and composite",
    ),
    "neither basic nor composite": (
        lambda s: s["spec"]["devices"][0].pop("composite"),
        "exactly one of basic and composite",
    ),
    "one name twice": (
        lambda s: s["spec"]["devices"].append(s["spec"]["devices"][0]),
        "Duplicate value",
    ),
    "an attribute of two types": (
        lambda s: of_first(s, attributes={"a": {"int": 1, "bool": True}}),
        "at most 1 item",
    ),
    "a quantity that is none": (
        lambda s: of_first(s, capacity={"c": {"quantity": "much"}}),
        "should match",
    ),
    "a negative quantity": (lambda s: of_first(s, capacity={"c": {"quantity": -1}}), "greater than or equal"),
    "no slice at all": (lambda s: s["spec"]["pool"].update(resourceSliceCount=0), "greater than or equal"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_breaks_a_limit_is_refused_with_the_rule(what: str, api: KubeApi, slice_: Document) -> None:
    spoil, rule = WRONG[what]
    spoil(slice_)

    with pytest.raises(Invalid, match=rule):
        api.create(COMPOSITES, slice_)


def test_the_largest_slice_that_the_limits_allow_is_stored(
    slice_: Document, store: Callable[[Document], Document]
) -> None:
    many(slice_, 64, 63)
    for one in (*slice_["spec"]["devices"], *slice_["spec"]["deviceMixins"]):
        one["composite"] = {"attributes": attributes(16), "capacity": capacities(16)}

    stored = store(slice_)

    assert stored["spec"] == slice_["spec"]


def test_driver_and_pool_of_a_slice_never_change(
    api: KubeApi, slice_: Document, store: Callable[[Document], Document]
) -> None:
    stored = store(slice_)
    stored["spec"]["driver"] = "other.example"

    with pytest.raises(Invalid, match="cannot change"):
        api.replace(COMPOSITES, stored)


@pytest.fixture
def site(api: KubeApi, kubeconfig: Path, tmp_path: Path) -> Iterator[Site]:
    made = Site(api, kubeconfig, tmp_path)
    made.register()
    yield made
    made.unregister()
    for resource in (RESOURCE_SLICES, COMPOSITES):
        for name in made.versions(resource):
            try:
                api.delete(resource, name)
            except NotFound:
                continue


def composites(site: Site) -> list[Document]:
    return site.slices(COMPOSITES)


def tangram(kubeconfig: Path, *arguments: str) -> str:
    """Run the face and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tangram", *arguments, f"--kubeconfig={kubeconfig}"],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_the_agent_publishes_them_beside_the_v1_slices_with_counts_in_the_table(
    site: Site, kubeconfig: Path
) -> None:
    with site.agent():
        site.published()
        eventually(lambda: composites(site), "composite slices")
        (stored,) = composites(site)

        shown = subprocess.run(
            ["kubectl", f"--kubeconfig={kubeconfig}", "get", "crslice", stored["metadata"]["name"]],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stdout

    spec = stored["spec"]
    head, row = (line.split() for line in shown.splitlines())
    assert head == ["NAME", "NODE", "POOL", "DEVICES", "MIXINS", "AGE"]
    assert row[1:5] == [site.name, site.name, str(len(spec["devices"])), str(len(spec["deviceMixins"]))]
    assert stored["metadata"]["ownerReferences"][0]["name"] == site.name


def test_one_that_somebody_deletes_comes_back(site: Site, api: KubeApi) -> None:
    with site.agent():
        site.published()
        eventually(lambda: composites(site), "composite slices")
        (stored,) = composites(site)

        api.delete(COMPOSITES, stored["metadata"]["name"])

        eventually(lambda: [one["spec"] for one in composites(site)] == [stored["spec"]], "it is back", 10)


def test_show_draws_the_pool_that_the_cluster_holds(site: Site, kubeconfig: Path) -> None:
    with site.agent():
        site.published()
        eventually(lambda: composites(site), "composite slices")

    shown = tangram(kubeconfig, "show", "--cluster", "--node", site.name)

    assert f"52 devices in pool {site.driver}/{site.name}" in shown
    assert "3g.20gb" in shown


@pytest.fixture
def asked(site: Site, api: KubeApi, namespace: str) -> Iterator[Callable[..., str]]:
    """Create a claim for partitions of one profile and return its name."""
    name = f"{site.name}-mig"
    expression = f'device.driver == "{site.driver}" && device.attributes["{site.driver}"].type == "mig"'
    api.create(
        DEVICE_CLASSES,
        {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}},
    )

    def claim(claim_name: str, profile: str, devices: tuple[str, ...] = ()) -> str:
        selector = f'device.attributes["{site.driver}"].profile == "{profile}"'
        exactly = {"deviceClassName": name, "selectors": [{"cel": {"expression": selector}}]}
        document = {
            "metadata": {"name": claim_name},
            "spec": {"devices": {"requests": [{"name": "part", "exactly": exactly}]}},
        }
        made = api.create(RESOURCE_CLAIMS, document, namespace)
        if devices:
            _allocate(api, dict(made.document), site, devices)
        return f"{namespace}/{claim_name}"

    yield claim
    api.delete(DEVICE_CLASSES, name)


def _allocate(api: KubeApi, claim: Document, site: Site, devices: tuple[str, ...]) -> None:
    """Write what a scheduler would."""
    results = [
        {"request": "part", "driver": site.driver, "pool": site.name, "device": device} for device in devices
    ]
    field = {"key": "metadata.name", "operator": "In", "values": [site.name]}
    selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    claim["status"] = {"allocation": {"devices": {"results": results}, "nodeSelector": selector}}
    api.replace(RESOURCE_CLAIMS, claim, claim["metadata"]["namespace"], subresource="status")


def test_explain_tells_why_a_pending_claim_does_not_fit_and_who_is_in_the_way(
    site: Site, kubeconfig: Path, asked: Callable[..., str]
) -> None:
    with site.agent():
        site.published()
    holders = [asked(f"whole-{gpu}", "7g.40gb", (f"gpu-{gpu}-mig-7g-40gb-0-7",)) for gpu in (0, 1)]
    pending = asked("pending", "1g.5gb")

    told = tangram(kubeconfig, "explain", "--cluster", "--claim", pending, "--node-name", site.name)

    assert "does not fit" in told or "cannot" in told
    assert all(holder in told for holder in holders)


def test_explain_tells_what_an_allocated_claim_has_and_why(
    site: Site, kubeconfig: Path, asked: Callable[..., str]
) -> None:
    with site.agent():
        site.published()
    asked("first", "1g.5gb", ("gpu-0-mig-1g-5gb-0",))
    allocated = asked("second", "1g.5gb", ("gpu-0-mig-1g-5gb-1",))

    told = tangram(kubeconfig, "explain", "--cluster", "--claim", allocated)
    plain = json.loads(tangram(kubeconfig, "explain", "--cluster", "--claim", allocated, "--json"))

    assert f"{allocated} is allocated in the cluster:" in told
    assert "not gpu-0-mig-1g-5gb-0" in told
    assert plain["node"] == site.name


def test_without_the_definition_the_agent_publishes_the_rest_and_says_so_once(
    site: Site, api: KubeApi, request: pytest.FixtureRequest
) -> None:
    if site.slices(COMPOSITES) or api.list(COMPOSITES).items:
        pytest.skip("others publish CompositeResourceSlices in this cluster")
    api.delete(DEFINITIONS, DEFINITION["metadata"]["name"])
    request.addfinalizer(lambda: _install(api))
    eventually(lambda: not is_installed(api, COMPOSITES), "the definition is gone")

    with site.agent("--resync=1") as agent:
        site.published()
        eventually(lambda: agent.metrics().get("discoveries_total", 0) >= 3, "some time passes")
        assert agent.said().count("CompositeResourceSlices cannot be watched") == 1


def _install(api: KubeApi) -> None:
    if not is_installed(api, COMPOSITES):
        try:
            api.create(DEFINITIONS, DEFINITION)
        except ApiError:
            return
        eventually(lambda: is_installed(api, COMPOSITES), "the definition is served")
