"""The agent against a real API server: what it publishes stays published, and costs nothing at rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_support import COMPOSITES, Site, is_installed, registered, write_kubeconfig
from cluster_support import eventually
from launcher.client import ClusterControl
from meddling_proxy import MeddlingProxy, meddling_proxy

from agent.hardware.simulated import Lost
from kube_api import NODES, RESOURCE_SLICES, KubeApi, PatchKind

pytestmark = pytest.mark.layout
NOTHING = """
name: nothing
summary: neither a GPU nor a NIC
topology: illustrative
driver: null
numa: [{node: 0, socket: 0, cpus: "0-15", distances: [10]}]
pci: []
"""
PROMPT_S = 5.0  # far less than the 30 s after which others look again; slow machines get some slack


@pytest.fixture
def site(api: KubeApi, kubeconfig: Path, tmp_path: Path) -> Iterator[Site]:
    with registered(api, kubeconfig, tmp_path) as made:
        yield made


@pytest.fixture
def proxy(kubeconfig: Path, control: ClusterControl) -> Iterator[MeddlingProxy]:
    with meddling_proxy(kubeconfig) as made:
        yield made


def test_a_nodes_devices_are_published_complete_and_owned_by_its_node_object(site: Site) -> None:
    with site.agent():
        pool = site.published()

    uid = site.api.get(NODES, site.name).metadata.uid
    assert pool.sources
    for one in site.slices():
        (owner,) = one["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Node", uid, True)
        assert one["spec"]["nodeName"] == site.name


def test_counters_lie_where_this_server_takes_them(site: Site, api: KubeApi) -> None:
    minor = int(api.server_version().split(".")[1])

    with site.agent() as agent:
        site.published()
        metrics = eventually(agent.metrics, "metrics")

    together = [one for one in site.slices() if {"devices", "sharedCounters"} <= one["spec"].keys()]
    assert bool(together) == (minor < 35)
    assert metrics[f'form{{form="{"together" if together else "separate"}"}}'] == 1


def test_slices_that_somebody_deletes_come_back_promptly(site: Site) -> None:
    with site.agent():
        before = site.published()
        for name in site.versions():
            site.api.delete(RESOURCE_SLICES, name)

        after = site.published(timeout_s=PROMPT_S)

    assert after.devices == before.devices


def test_a_slice_that_somebody_edits_is_put_right_with_one_write(site: Site) -> None:
    with site.agent():
        before = site.published()
        versions = site.versions()
        edited = next(one for one in site.slices() if one["spec"].get("devices"))["metadata"]["name"]
        removal = [{"op": "remove", "path": "/spec/devices/0"}]
        site.api.patch(RESOURCE_SLICES, edited, removal, kind=PatchKind.JSON)

        after = site.published(timeout_s=PROMPT_S)

        assert after.devices == before.devices
        assert {name for name, version in site.versions().items() if versions[name] != version} == {edited}


def test_at_rest_the_agent_neither_writes_nor_reads(site: Site, proxy: MeddlingProxy) -> None:
    config = write_kubeconfig(proxy.kubeconfig, site.folder / "kubeconfig")
    with site.agent("--resync=1", kubeconfig=config) as agent:
        site.published()
        eventually(lambda: agent.metrics().get("discoveries_total", 0) >= 2, "a second look")
        versions, looks = site.versions(), agent.metrics()["discoveries_total"]
        asked = proxy.reads() + sum(map(proxy.writes, (RESOURCE_SLICES.plural, COMPOSITES.plural)))

        eventually(lambda: agent.metrics()["discoveries_total"] >= looks + 5, "five more looks")

        later = proxy.reads() + sum(map(proxy.writes, (RESOURCE_SLICES.plural, COMPOSITES.plural)))
        assert later - asked <= (0 if is_installed(site.api, COMPOSITES) else 1)
        assert site.versions() == versions


def test_an_agent_that_starts_again_writes_nothing(site: Site) -> None:
    with site.agent():
        site.published()
    versions = site.versions()

    with site.agent() as agent:
        eventually(lambda: agent.metrics().get('slices{kind="ResourceSlice"}'), "it has published")
        written = [name for name in agent.metrics() if name.startswith('writes_total{kind="ResourceSlice"')]

    assert site.versions() == versions
    assert written == []


def test_a_signal_ends_the_agent_and_leaves_the_slices(site: Site) -> None:
    with site.agent() as agent:
        site.published()

    assert agent.process.returncode == 0
    assert len(site.names()) == 52


def test_a_change_of_the_machine_reaches_the_cluster_without_waiting_for_the_timer(site: Site) -> None:
    site.machine_name = "dgx-a100"
    with site.agent("--resync=3600"):
        before = site.published(280)
        nic = next(nic for nic in site.machine.node.nics if nic.form.vfs)
        site.machine.set_vfs(nic.bdf, 0)

        after = site.published(280 - nic.form.vfs)

    assert {device.name for device in after.devices} < {device.name for device in before.devices}


def is_without_parts_of_gpu_1(site: Site) -> bool:
    """Whether only the other GPU is offered; the lost one stays listed by itself where taints are kept."""
    names = site.names()
    return bool(names) and all(name.startswith("gpu-0") or name == "gpu-1" for name in names)


def test_a_lost_gpu_leaves_alone_and_comes_back(site: Site) -> None:
    with site.agent("--resync=3600"):
        site.published()
        site.machine.inject(Lost(1))
        eventually(lambda: is_without_parts_of_gpu_1(site), "it stays until several looks have failed", 90)

        site.machine.clear_faults()

        site.published(52)


def test_without_a_node_object_the_agent_says_so_and_publishes_once_it_is_there(site: Site) -> None:
    site.unregister()
    with site.agent() as agent:
        eventually(lambda: f"there is no Node {site.name}" in agent.said(), "the message")
        assert site.slices() == []

        site.register()

        site.published()


def test_refusals_of_a_busy_server_only_delay(site: Site, proxy: MeddlingProxy) -> None:
    for status in (429, 500, 503) * 4:
        proxy.refuse(status, times=1)
    config = write_kubeconfig(proxy.kubeconfig, site.folder / "kubeconfig")

    with site.agent(kubeconfig=config):
        site.published(timeout_s=60)

    assert not proxy.refusals


def stranger(site: Site, name: str) -> str:
    """Store a slice of the node's pool, of its generation, that its agent does not want."""
    (one, *_) = (found for found in site.slices() if found["spec"].get("devices"))
    spec = {**one["spec"], "devices": [{"name": name}]}
    site.api.create(RESOURCE_SLICES, {"metadata": {"name": f"{site.name}-{name}"}, "spec": spec})
    return f"{site.name}-{name}"


def test_a_slice_that_cannot_be_deleted_is_told_once_and_the_pool_is_right_beside_it(
    site: Site, proxy: MeddlingProxy
) -> None:
    with site.agent():
        before = site.published()
    stubborn, other = stranger(site, "stubborn"), stranger(site, "other")
    proxy.undeletable.add(stubborn)

    with site.agent("--resync=1", kubeconfig=write_kubeconfig(proxy.kubeconfig, site.folder / "c")) as agent:
        after = site.published()
        eventually(lambda: agent.metrics().get('failures_total{kind="ResourceSlice"}', 0) >= 3, "failures")
        versions, said, is_ready = site.versions(), agent.said(), agent.get("/readyz") == "ok\n"
        proxy.undeletable.clear()
        eventually(lambda: stubborn not in site.versions(), "it is gone")

    assert after.devices == before.devices
    assert stubborn in versions
    assert other not in versions
    assert is_ready
    assert len([line for line in said.splitlines() if "cannot publish" in line and stubborn in line]) == 1


def test_a_broken_watch_is_taken_up_again(site: Site, proxy: MeddlingProxy) -> None:
    config = write_kubeconfig(proxy.kubeconfig, site.folder / "kubeconfig")
    with site.agent(kubeconfig=config):
        site.published()
        watches = proxy.asked[f"WATCH {RESOURCE_SLICES.plural}"]
        proxy.break_watches()
        eventually(lambda: proxy.asked[f"WATCH {RESOURCE_SLICES.plural}"] > watches, "another watch")

        for name in itertools.islice(site.versions(), 1):
            site.api.delete(RESOURCE_SLICES, name)

        site.published(timeout_s=PROMPT_S)


def test_while_the_server_is_gone_the_agent_keeps_trying_says_so_once_and_then_catches_up(
    site: Site, control: ClusterControl
) -> None:
    with site.agent("--resync=3600") as agent:
        site.published()
        control.kill("apiserver")
        site.machine.inject(Lost(1))
        eventually(
            lambda: agent.metrics().get('failures_total{kind="ResourceSlice"}', 0) >= 6, "six failures", 120
        )
        said = [line for line in agent.said().splitlines() if "ResourceSlices" in line]

        control.start("apiserver")

        eventually(lambda: is_without_parts_of_gpu_1(site), "the lost GPU is told", 90)
        assert agent.process.poll() is None
    for message in ("cannot publish ResourceSlices", "the watch of ResourceSlices broke"):
        assert len([line for line in said if message in line]) == 1, said


def test_a_machine_without_gpus_and_nics_has_one_empty_slice_and_costs_nothing(site: Site) -> None:
    nothing = site.folder / "nothing.yaml"
    nothing.write_text(NOTHING)
    site.machine_name = str(nothing)
    with site.agent("--resync=1") as agent:
        (first,) = eventually(site.slices, "a slice")
        eventually(lambda: agent.metrics().get('slices{kind="ResourceSlice"}') == 1, "it is published")
        assert agent.get("/readyz") == "ok\n"
        versions, looks = site.versions(), agent.metrics()["discoveries_total"]

        eventually(lambda: agent.metrics()["discoveries_total"] >= looks + 5, "five more looks")

        assert not first["spec"].get("devices")
        assert site.pool() is not None
        assert site.versions() == versions
        assert agent.metrics()['writes_total{kind="ResourceSlice",verb="create"}'] == 1
