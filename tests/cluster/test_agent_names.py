"""An agent publishes although somebody has the names of its slices, and says whom nobody keeps from that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from agent_support import COMPOSITES, Site, is_installed, registered
from cluster_support import Document, eventually
from launcher.client import ClusterControl

from kube_api import EVENTS, RESOURCE_SLICES, KubeApi, NotFound, Resource

pytestmark = pytest.mark.layout
STRANGER = "node-of-others"


@pytest.fixture
def site(api: KubeApi, kubeconfig: Path, tmp_path: Path) -> Iterator[Site]:
    with registered(api, kubeconfig, tmp_path) as made:
        yield made


def of_stranger(kind: Resource, driver: str, name: str) -> Document:
    pool = {"name": STRANGER, "generation": 1, "resourceSliceCount": 1}
    device: Document = {"name": "d"} if kind == RESOURCE_SLICES else {"name": "d", "basic": {}}
    spec = {"driver": driver, "nodeName": STRANGER, "pool": pool, "devices": [device]}
    return {"metadata": {"name": name}, "spec": spec}


@pytest.fixture
def kinds(api: KubeApi) -> list[Resource]:
    """The kinds of slices that this server has."""
    return [RESOURCE_SLICES, *([COMPOSITES] if is_installed(api, COMPOSITES) else [])]


@pytest.fixture
def taken(api: KubeApi, site: Site, kinds: list[Resource]) -> Iterator[list[str]]:
    """Names of the agent's that slices of another node have, as a compromised node would make them."""
    names = [f"{site.name}-{site.driver}-{ending}" for ending in ("00", "01", "00-trial")]
    # Another driver's: what is of this one, the site would take for its own.
    made = [
        (kind, api.create(kind, of_stranger(kind, "stranger.example", name)))
        for kind in kinds
        for name in names
    ]
    yield names
    for kind, one in made:
        with suppress(NotFound):
            api.delete(kind, one.metadata.name, uid=one.metadata.uid)


def told(api: KubeApi, site: Site, reason: str) -> list[str]:
    """Return what the agent told of its node for a reason."""
    found = (one.document for one in api.list(EVENTS, "default").items)
    return [
        one["note"] for one in found if one["reason"] == reason and one["regarding"].get("name") == site.name
    ]


def test_a_node_whose_slices_names_another_one_took_publishes_all_its_devices_and_says_so(
    api: KubeApi, site: Site, taken: list[str], kinds: list[Resource]
) -> None:
    with site.agent():
        site.published()
        eventually(lambda: all(site.slices(kind) for kind in kinds), "both forms are published")
        texts = eventually(lambda: told(api, site, "SliceNameTaken"), "the event on the node")
    before = {kind.kind: site.versions(kind) for kind in kinds}
    with site.agent() as again:
        eventually(lambda: again.metrics().get("foreign_slices_allowed"), "a restarted agent has looked")

    assert any(f"driver stranger.example of node {STRANGER} has one of that name" in text for text in texts)
    assert {kind.kind: site.versions(kind) for kind in kinds} == before
    for kind in kinds:
        names = {one["metadata"]["name"] for one in site.slices(kind)}
        assert any(name.startswith(f"{taken[0]}-") for name in names)
        for name in taken:
            assert api.get(kind, name).document["spec"]["nodeName"] == STRANGER


def test_an_agent_that_may_write_slices_of_other_nodes_says_so(api: KubeApi, site: Site) -> None:
    with site.agent() as agent:
        site.published()
        eventually(lambda: told(api, site, "ForeignSlicesAllowed"), "the event on the node")

        assert agent.metrics()["foreign_slices_allowed"] == 1.0


def test_the_installed_agent_found_that_it_may_not(control: ClusterControl, node: str) -> None:
    def metrics() -> str:
        asked = ["busybox", "wget", "-qO-", "http://127.0.0.1:9464/metrics"]
        return control.run_on_node(node, asked).stdout

    eventually(lambda: "tangram_agent_foreign_slices_allowed 0.0" in metrics(), "the agent has asked")
