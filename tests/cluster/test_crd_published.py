"""CompositeResourceSlices as the agent publishes them and the ``tangram`` command reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from agent_support import COMPOSITES, Site, registered
from cluster_support import Document, eventually
from crd_support import ROOT, install, installed_definition, uninstall

from agent.hardware.simulated import parse_injected
from kube_api import DEVICE_CLASSES, RESOURCE_CLAIMS, KubeApi

pytestmark = pytest.mark.layout


@pytest.fixture(scope="module", autouse=True)
def installed(api: KubeApi) -> Iterator[None]:
    with installed_definition(api):
        yield


@pytest.fixture
def site(api: KubeApi, kubeconfig: Path, tmp_path: Path) -> Iterator[Site]:
    with registered(api, kubeconfig, tmp_path) as made:
        yield made


def composites(site: Site) -> list[Document]:
    return site.slices(COMPOSITES)


def tangram(kubeconfig: Path, *arguments: str) -> str:
    """Run the ``tangram`` command and return what it prints."""
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


def tainted(site: Site) -> set[str]:
    """Return the devices with a taint for their health in the composite slices."""
    devices = [one for stored in composites(site) for one in stored["spec"]["devices"]]
    return {
        one["name"]
        for one in devices
        if any(taint["key"].startswith("health.") for taint in one["composite"].get("taints", ()))
    }


def test_a_device_that_is_ill_has_its_taint_there_until_it_is_well(site: Site) -> None:
    machine = site.machine
    with site.agent():
        site.published()
        eventually(lambda: composites(site), "composite slices")

        machine.inject(parse_injected("gpu-0:xid=48"))

        eventually(lambda: tainted(site), "a taint", 60)
        assert all(name.startswith("gpu-0") for name in tainted(site))
        machine.reset_gpu(machine.gpus.gpus()[0].uuid)
        eventually(lambda: not tainted(site), "no taint any more", 60)


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
    uninstall(api)
    request.addfinalizer(lambda: install(api))

    with site.agent("--resync=1") as agent:
        site.published()
        eventually(lambda: agent.metrics().get("discoveries_total", 0) >= 3, "some time passes")
        assert agent.said().count("CompositeResourceSlices cannot be watched") == 1
