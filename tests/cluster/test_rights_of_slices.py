"""Whoever takes over one node keeps no other node from publishing, whatever the version."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cluster_support import Document, eventually

from kube_api import RESOURCE_SLICES, Forbidden, KubeApi

pytestmark = pytest.mark.layout
MINE = "node-of-mine"
DRIVER = "tangram.dev"


def slice_of(node: str, name: str, driver: str = DRIVER) -> Document:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": [{"name": "d"}]}
    return {"metadata": {"name": name}, "spec": spec}


def refusal(api: KubeApi, document: Document) -> str:
    """Return why a slice is refused, empty where it would be stored."""
    try:
        api.create(RESOURCE_SLICES, document, dry_run=True)
    except Forbidden as error:
        return str(error)
    return ""


@pytest.fixture
def ours(tangram_of: Callable[[str], KubeApi]) -> KubeApi:
    """The API server as the token of one node, once the policies are in force."""
    connected = tangram_of(MINE)
    foreign = slice_of("another", f"another-{DRIVER}-00")
    eventually(lambda: refusal(connected, foreign), "the policies are in force", 10)
    return connected


@pytest.mark.parametrize(
    "ending", ["00", "07", "123", "00-trial", "00-0123abcd", "00-trial-0123abcd"], ids=str
)
def test_a_node_creates_slices_under_the_names_that_its_agent_gives_them(ours: KubeApi, ending: str) -> None:
    assert refusal(ours, slice_of(MINE, f"{MINE}-{DRIVER}-{ending}")) == ""


@pytest.mark.parametrize(
    "name",
    [
        f"node-of-others-{DRIVER}-00",
        f"node-{DRIVER}-00",
        f"{MINE}-2-{DRIVER}-00",
        f"{MINE}-{DRIVER}-0",
        f"{MINE}-{DRIVER}-00-0123ABCD".lower() + "-x",
        f"{MINE}-{DRIVER}-x-{DRIVER}-00",
        f"x-{MINE}-{DRIVER}-00",
        "anything",
    ],
    ids=str,
)
def test_a_node_creates_no_slice_under_a_name_that_another_nodes_may_have(ours: KubeApi, name: str) -> None:
    text = refusal(ours, slice_of(MINE, name))

    assert f"create a slice with the name {name}" in text
    assert f"whose slices are called {MINE}-{DRIVER}-00 and so on" in text


def test_a_node_creates_no_slice_of_another_driver(ours: KubeApi) -> None:
    text = refusal(ours, slice_of(MINE, f"{MINE}-{DRIVER}-00", "gpu.nvidia.com"))

    assert f"write a slice of driver gpu.nvidia.com: this token may write slices of driver {DRIVER}" in text


def test_a_node_deletes_no_slice_of_another_driver_on_its_own_node(api: KubeApi, ours: KubeApi) -> None:
    name = f"{MINE}-gpu.nvidia.com-abcde"
    api.create(RESOURCE_SLICES, slice_of(MINE, name, "gpu.nvidia.com"))

    try:
        with pytest.raises(Forbidden, match=r"write a slice of driver gpu\.nvidia\.com"):
            ours.delete(RESOURCE_SLICES, name)
    finally:
        api.delete(RESOURCE_SLICES, name)


def test_a_node_deletes_a_slice_of_its_own_whatever_its_name(api: KubeApi, ours: KubeApi) -> None:
    name = f"left-{MINE}"
    api.create(RESOURCE_SLICES, slice_of(MINE, name))

    ours.delete(RESOURCE_SLICES, name)

    assert name not in {one.metadata.name for one in api.list(RESOURCE_SLICES).items}
