"""What ``kubectl apply -k`` installed may do what it needs on its own node, and no more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cluster_support import Document

from kube_api import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Forbidden, KubeApi, Resource

COMPOSITES = Resource.of("tangram.dev/v1alpha1", "CompositeResourceSlice", "compositeresourceslices")
DRIVER = "tangram.dev"
SECRETS = Resource.of("v1", "Secret", "secrets", namespaced=True)


def v1_slice(node: str, name: str = "") -> Document:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": [{"name": "d"}]}
    return {"metadata": {"name": name or f"{node}-{DRIVER}-00"}, "spec": spec}


def composite_slice(node: str, name: str = "") -> Document:
    document = v1_slice(node, name)
    return {**document, "spec": {**document["spec"], "devices": [{"name": "d", "basic": {}}]}}


KINDS = [
    pytest.param(RESOURCE_SLICES, v1_slice, id="v1"),
    pytest.param(COMPOSITES, composite_slice, id="composite"),
]


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_node_writes_and_deletes_its_own_slices(
    tangram_of: Callable[[str], KubeApi], namespace: str, kind: Resource, make: Callable[[str], Document]
) -> None:
    node = f"{namespace}-node"  # without an agent, which would delete what it did not write
    ours = tangram_of(node)

    stored = ours.create(kind, make(node))
    ours.delete(kind, stored.metadata.name)

    assert stored.document["spec"]["nodeName"] == node


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_node_cannot_write_a_slice_of_another_node(
    as_tangram: Callable[..., KubeApi],
    tangram: Document,
    node: str,
    kind: Resource,
    make: Callable[[str], Document],
) -> None:
    ours = as_tangram(tangram)

    with pytest.raises(Forbidden, match=f"this token is of node {node}, whose slices it may write"):
        ours.create(kind, make("another-node"))


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_node_cannot_take_the_name_of_another_nodes_slice(
    as_tangram: Callable[..., KubeApi],
    tangram: Document,
    node: str,
    kind: Resource,
    make: Callable[[str, str], Document],
) -> None:
    ours = as_tangram(tangram)

    with pytest.raises(Forbidden, match=f"whose slices are called {node}-{DRIVER}-00"):
        ours.create(kind, make(node, f"another-node-{DRIVER}-00"))


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_node_cannot_delete_a_slice_of_another_node(
    api: KubeApi,
    as_tangram: Callable[..., KubeApi],
    tangram: Document,
    namespace: str,
    kind: Resource,
    make: Callable[[str, str], Document],
) -> None:
    api.create(kind, make("another-node", namespace))
    ours = as_tangram(tangram)

    try:
        with pytest.raises(Forbidden, match="write a slice of node another-node"):
            ours.delete(kind, namespace)
    finally:
        api.delete(kind, namespace)


def test_a_node_cannot_take_over_a_composite_slice_of_another_node(
    api: KubeApi, as_tangram: Callable[..., KubeApi], tangram: Document, node: str, namespace: str
) -> None:
    stored = api.create(COMPOSITES, composite_slice("another-node", namespace)).document
    ours = as_tangram(tangram)

    try:
        with pytest.raises(Forbidden, match="write a slice of node another-node"):
            ours.replace(COMPOSITES, {**stored, "spec": {**stored["spec"], "nodeName": node}})
    finally:
        api.delete(COMPOSITES, namespace)


@pytest.mark.parametrize(("kind", "make"), KINDS)
def test_a_node_cannot_write_into_the_pool_of_another_node(
    as_tangram: Callable[..., KubeApi],
    tangram: Document,
    node: str,
    kind: Resource,
    make: Callable[[str], Document],
) -> None:
    document = make(node)
    stranger = {**document["spec"]["pool"], "name": "another-node", "generation": 1000}
    ours = as_tangram(tangram)

    with pytest.raises(Forbidden, match="write a slice of node another-node"):
        ours.create(kind, {**document, "spec": {**document["spec"], "pool": stranger}})


def delegating_slice(node: str, *device_nodes: Document) -> Document:
    document = composite_slice(node)
    spec = {key: value for key, value in document["spec"].items() if key != "nodeName"}
    devices = [{"name": f"d{index}", "composite": where} for index, where in enumerate(device_nodes)]
    return {**document, "spec": {**spec, "nodeSelectionDelegated": True, "devices": devices}}


def test_a_slice_that_delegates_offers_devices_of_its_own_node(
    tangram_of: Callable[[str], KubeApi], namespace: str
) -> None:
    node = f"{namespace}-node"
    ours = tangram_of(node)

    stored = ours.create(COMPOSITES, delegating_slice(node, {"nodeName": node}))
    ours.delete(COMPOSITES, stored.metadata.name)

    assert "nodeName" not in stored.document["spec"]


@pytest.mark.parametrize("elsewhere", [{"nodeName": "another-node"}, {"allNodes": True}], ids=str)
def test_a_slice_that_delegates_offers_no_devices_of_other_nodes(
    as_tangram: Callable[..., KubeApi],
    tangram: Document,
    node: str,
    elsewhere: Document,
) -> None:
    ours = as_tangram(tangram)

    with pytest.raises(Forbidden, match=r"write a slice of node (another-node|\(none\))"):
        ours.create(COMPOSITES, delegating_slice(node, {"nodeName": node}, elsewhere))


def test_a_token_that_names_no_node_writes_no_slice(as_tangram: Callable[..., KubeApi], node: str) -> None:
    with pytest.raises(Forbidden, match="the token names no node"):
        as_tangram().create(RESOURCE_SLICES, v1_slice(node))


@pytest.mark.parametrize("kind", [RESOURCE_CLAIMS, PODS, SECRETS], ids=str)
def test_the_service_account_reads_nothing_that_it_does_not_need(
    as_tangram: Callable[..., KubeApi], tangram: Document, kind: Resource
) -> None:
    with pytest.raises(Forbidden):
        as_tangram(tangram).list(kind)
