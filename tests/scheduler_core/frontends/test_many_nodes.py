"""Annotated claims and pods on several nodes, and which table of partitions counts on a node."""

import json

import pytest

from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import FIRST_FIT
from scheduler_core.frontends.claims.annotated_documents import claim_marks, node_tables
from scheduler_core.frontends.claims.claim_demands import Marks
from scheduler_core.frontends.claims.many_nodes import allocate_marked_somewhere, answer_without_allocation
from scheduler_core.frontends.partitions.device_value import DeviceObject
from scheduler_core.frontends.partitions.node_table import NodeTable, effective_table
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.frontends.pods.hints import Joint
from scheduler_core.frontends.pods.many_nodes import place_pods
from scheduler_core.frontends.pods.placer import PodPlacer
from scheduler_core.frontends.pods.pod_request import ask_of
from scheduler_core.frontends.pods.reported import ReportedDevice, pool_of
from scheduler_core.model.claim import ClaimRef
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Cause, Reason, Unallocatable, Undecided
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import ANY, DRIVER, claim, device, pool, request

PREFIX = "scheduling.koordinator.sh/"
PAIR = json.dumps({"2": [{"minors": [0, 1], "gpuLinkType": "NVLink", "allocationScore": 1}]})
TABLE = NodeTable(table=table_of("Node n", PAIR))
HONORED = NodeTable(is_honored=True)
WHOLE = {f"koordinator.sh/gpu-{name}": 100 for name in ("core", "memory-ratio")}
N1, N2 = Node("n1", {}), Node("n2", {})


def reported(name, count):
    gpus = [ReportedDevice(kind="gpu", minor=n, total=WHOLE) for n in range(count)]
    return pool_of(name, gpus)


def node_document(name, table=None, **labels):
    annotations = {PREFIX + "gpu-partitions": table} if table is not None else {}
    metadata = {"name": name, "annotations": annotations, "labels": labels}
    return Document(f"{name}.yaml", {"kind": "Node", "metadata": metadata})


def of(kind):
    return f'device.attributes["{DRIVER}"].kind == "{kind}"'


def parts(node, *kinds):
    places = ({"kind": kind, "resource.kubernetes.io/pcieRoot": "pci0"} for kind in kinds)
    return pool(*(device(f"{one['kind']}-{n}", attributes=one) for n, one in enumerate(places)), node=node)


WANTED = claim(request("gpu", of("gpu")), request("nic", of("nic")))
JOINED = {WANTED.ref: Marks(Joint(("gpu", "nic")))}


def somewhere(*pools, marks=JOINED, tables=None):
    cluster = Cluster(pools=pools, classes={"any": ANY})
    return allocate_marked_somewhere([WANTED], marks, Engine.of(cluster, FIRST_FIT), [N1, N2], tables or {})


@pytest.mark.parametrize("annotated", [NodeTable(), HONORED, TABLE])
def test_a_device_objects_table_counts_before_the_nodes(annotated):
    assert effective_table(TABLE, annotated) is TABLE
    assert effective_table(NodeTable(), annotated) is annotated
    assert effective_table(None, annotated) is annotated


def test_node_tables_are_those_that_count_and_warn_of_all():
    old = json.dumps({"2": [{"minors": [0, 1], "gpuLinkType": "NVLink"}]})  # computed scores are a warning
    devices = [
        DeviceObject(name, reported(name, 2), table) for name, table in (("n1", TABLE), ("n2", HONORED))
    ]
    documents = [node_document("n1", old), node_document("n2", PAIR)]
    cluster = Cluster(pools=tuple(one.pool for one in devices), classes={})

    found = node_tables(documents, devices, ClusterState.of(cluster), [N1, N2])

    assert found.by_node == {"n1": TABLE, "n2": TABLE}
    assert ["computed" in text for text in found.warnings] == [True]


def test_a_table_of_gpus_that_the_node_does_not_publish_is_refused_by_its_place():
    cluster = Cluster(pools=(reported("n1", 1),), classes={})

    with pytest.raises(InvalidDocument) as refused:
        node_tables([node_document("n1", PAIR)], (), ClusterState.of(cluster), [N1])
    assert refused.value.place == "n1.yaml"


def test_marks_are_those_of_claims_alone():
    annotations = {PREFIX + "device-joint-allocate": json.dumps({"deviceTypes": ["gpu", "nic"]})}
    requests = [{"name": name} for name in ("gpu", "nic")]
    spec = {"devices": {"requests": requests}}
    content = {"kind": "ResourceClaim", "metadata": {"name": "c", "annotations": annotations}, "spec": spec}

    found = claim_marks([node_document("n1", PAIR), Document("c.yaml", content)])

    assert found == {ClaimRef("default", "c"): Marks(Joint(("gpu", "nic")))}


@pytest.mark.parametrize("tables", [{}, {"n1": NodeTable()}])
def test_claims_without_marks_on_nodes_without_tables_are_left_to_the_engine(tables):
    assert somewhere(parts("n1", "gpu", "nic"), marks={WANTED.ref: Marks()}, tables=tables) is None


def test_a_table_of_a_node_marks_every_claim():
    assert isinstance(
        somewhere(parts("n1", "gpu", "nic"), marks={WANTED.ref: Marks()}, tables={"n2": HONORED}), Allocation
    )


def test_the_first_node_that_fits_is_taken():
    found = somewhere(parts("n1", "gpu"), parts("n2", "gpu", "nic"))

    assert isinstance(found, Allocation)
    assert found.node == "n2"


def test_without_a_node_that_fits_the_first_refusal_is_the_answer():
    found = somewhere(parts("n1", "gpu"), parts("n2", "nic"))

    assert isinstance(found, Unallocatable)
    assert found.node == "n1"


@pytest.mark.parametrize("number", range(3))
def test_an_undecided_node_counts_before_every_refusal(number):
    reason = Reason(WANTED.ref, "gpu", Cause.NO_MATCHING_DEVICE, "")
    answers = [Unallocatable(node=node, reasons=(reason,)) for node in "abc"]
    undecided = Undecided(node="u", steps=1, why="the search found no end")

    assert answer_without_allocation(answers) is answers[0]
    assert answer_without_allocation([*answers[:number], undecided, *answers[number:]]) is undecided
    assert answer_without_allocation([]) is None


def ask(name, count):
    return ask_of(f"Pod default/{name}", {"nvidia.com/gpu": count}, {})


def test_each_pod_holds_its_devices_before_the_next_is_placed():
    cluster = Cluster(pools=(reported("n1", 2), reported("n2", 1)), classes={})
    asks = [ask(f"p{n}", 1) for n in range(4)]

    found = list(place_pods(asks, PodPlacer(ClusterState.of(cluster)), [N1, N2], {}))

    assert [one.placed.node if one.placed else None for one in found] == ["n1", "n1", "n2", None]
    assert [list(one.refused) for one in found] == [[], [], ["n1"], ["n1", "n2"]]
    taken = [device for one in found if one.placed for units in one.placed.devices["gpu"] for device in units]
    assert len(taken) == len(set(taken)) == 3


def test_the_order_of_nodes_is_the_order_of_trying():
    cluster = Cluster(pools=(reported("n1", 1), reported("n2", 1)), classes={})

    for nodes in ([N1, N2], [N2, N1]):
        (found,) = place_pods([ask("p", 1)], PodPlacer(ClusterState.of(cluster)), nodes, {})
        assert found.placed.node == nodes[0].name
