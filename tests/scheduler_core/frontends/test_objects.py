"""Documents to the objects of a cluster."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.frontends.objects import KINDS, Objects, decode_objects
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import DRIVER, device, pool

ALLOCATED = "scheduling.koordinator.sh/device-allocated"


def document(kind, name, place=None, **content):
    return Document(place or f"{kind}/{name}", {"kind": kind, "metadata": {"name": name}, **content})


def v1_slice(node, *devices):
    spec = {"driver": DRIVER, "nodeName": node, "devices": [{"name": one} for one in devices]}
    spec["pool"] = {"name": node, "generation": 1, "resourceSliceCount": 1}
    return document("ResourceSlice", f"slice-{node}", spec=spec)


def claim(name, *held):
    requests = [{"name": "r", "exactly": {"deviceClassName": "any"}}]
    results = [{"request": "r", "driver": DRIVER, "pool": "n1", "device": one} for one in held]
    status = {"allocation": {"devices": {"results": results}}} if held else {}
    return document("ResourceClaim", name, spec={"devices": {"requests": requests}}, status=status)


def pod(name, text):
    content = document("Pod", name, spec={"nodeName": "n1"}).content
    return Document(f"Pod/{name}", {**content, "metadata": {"name": name, "annotations": {ALLOCATED: text}}})


EVERYTHING = (
    v1_slice("n1", "a", "b"),
    v1_slice("n2", "c"),
    document("DeviceClass", "any", spec={}),
    claim("asks"),
    claim("holds", "a"),
    document("Node", "n1"),
    document("Device", "n3", spec={"devices": []}),
    pod("runs", json.dumps({"gpu": [{"minor": 1, "id": f"{DRIVER}/n1/b"}]})),
)


@given(st.permutations(EVERYTHING))
def test_the_order_of_documents_does_not_change_the_cluster(documents):
    found, expected = decode_objects(documents).cluster(), decode_objects(EVERYTHING).cluster()

    assert {one.id: one for one in found.pools} == {one.id: one for one in expected.pools}
    assert {one.ref: one for one in found.allocated} == {one.ref: one for one in expected.allocated}
    assert found.classes == expected.classes


def test_a_claim_holds_devices_or_asks_for_them():
    objects = decode_objects(EVERYTHING)

    assert [one.ref.name for one in objects.claims] == ["asks"]
    assert [one.ref.name for one in objects.allocated] == ["holds"]


def test_a_running_pod_holds_what_its_annotation_names():
    (_, held) = decode_objects(EVERYTHING).cluster().allocated

    assert [str(one.device) for one in held.results] == [f"{DRIVER}/n1/b"]


def test_a_bad_annotation_of_a_pod_names_the_place_of_the_pod():
    objects = decode_objects([pod("bad", "{")])

    with pytest.raises(InvalidDocument) as refused:
        objects.cluster()
    assert refused.value.place == "Pod/bad"


def test_an_object_given_twice_names_both_places():
    twice = [document("Node", "n", "a.yaml:1"), document("Node", "n", "b.yaml:7")]

    with pytest.raises(InvalidDocument, match=r"b\.yaml:7: Node n: is given twice, first at a\.yaml:1"):
        decode_objects(twice)


def test_an_unknown_kind_is_refused_with_the_kinds_that_are_read():
    with pytest.raises(InvalidDocument) as refused:
        decode_objects([document("Deployment", "d", "a.yaml")])

    assert str(refused.value) == f"a.yaml: kind: 'Deployment': must be one of {', '.join(KINDS)}"


@pytest.mark.parametrize("kind", KINDS)
def test_a_version_that_is_not_read_is_refused_for_every_kind(kind):
    with pytest.raises(InvalidDocument, match=f"{kind}: apiVersion: 'example.com/v9': must be one of"):
        decode_objects([document(kind, "x", apiVersion="example.com/v9")])


def test_nodes_without_a_node_object_are_tried_last_by_name_with_their_hostname():
    objects = Objects(nodes=(Node("z", {"zone": "a"}), Node("n2", {})))
    pools = [pool(device("d"), node=name) for name in ("n2", "n1", "b")]

    assert objects.nodes_to_try(pools) == (
        Node("z", {"zone": "a"}),
        Node("n2", {}),
        Node("b", {"kubernetes.io/hostname": "b"}),
        Node("n1", {"kubernetes.io/hostname": "n1"}),
    )


def test_a_wanted_node_is_tried_alone_with_the_labels_that_are_known():
    objects = Objects(nodes=(Node("z", {"zone": "a"}),))

    assert objects.nodes_to_try((), "z") == (Node("z", {"zone": "a"}),)
    assert objects.nodes_to_try((), "y") == (Node("y", {"kubernetes.io/hostname": "y"}),)


def test_entries_of_slices_that_break_a_rule_are_problems():
    good, bad = v1_slice("n1", "a"), v1_slice("n2", "b", "c")
    bad.content["spec"]["devices"][1]["attributes"] = {"model": {"string": 3}}

    assert decode_objects([good]).problems() == ()
    assert ["devices[1]" in text for text in decode_objects([good, bad]).problems()] == [True]


def composite_slice(name, *devices, slices=1):
    meta = {"driver": DRIVER, "pool": {"name": name, "generation": 1, "resourceSliceCount": slices}}
    spec = {**meta, "nodeName": name, "devices": [{"name": one, "composite": {}} for one in devices]}
    return document("CompositeResourceSlice", f"slice-{name}", spec=spec)


@pytest.mark.parametrize(("slices", "counts"), [(1, "x"), (2, "a")])
def test_where_both_dialects_have_a_pool_one_of_them_counts_as_in_a_cluster_state(slices, counts):
    objects = decode_objects([composite_slice("n1", "x", slices=slices), v1_slice("n1", "a")])
    state = ClusterState()
    state.upsert_slices([*objects.composite_slices, *objects.v1_slices])

    assert [one.name for pool in objects.pools() for one in pool.devices] == [counts]
    assert [one.name for pool in state.pools() for one in pool.devices] == [counts]
