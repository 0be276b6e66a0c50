"""The shipped examples of annotated pods, from their creation to the claim that is written for them."""

import base64
import json
import uuid
from pathlib import Path

import pytest
import yaml
from short_folders import short_folder

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from agent.inventory import describe, discover
from controller.webhook.review import review
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.admission.asked_pod import asked_in_annotation
from scheduler_core.frontends.partitions.node_table import node_table_of
from scheduler_core.frontends.placement.decide import PodDecider
from scheduler_core.frontends.pods.written_claim import claim_document, held_claim, requests_of_amounts
from scheduler_core.model.ownership import CLAIM
from scheduler_core.state.cluster_state import ClusterState

EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples" / "pods"
NODE = "dgx-a100"


@pytest.fixture(scope="module")
def decider():
    state = ClusterState()
    with short_folder() as folder:
        machine = SimulatedMachine.open(load_node(NODE), Path(folder))
        state.set_pool(describe(discover(simulated_hardware(machine).readers, NODE)).pool)
    return PodDecider(Engine(state))


@pytest.fixture(scope="module")
def tables():
    node = yaml.safe_load((EXAMPLES / "node-with-partitions.yaml").read_text())
    return {NODE: node_table_of(node, range(8))}


def admitted(pod):
    request = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "namespace": "default",
        "operation": "CREATE",
        "object": pod,
    }
    answer = review({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
    assert answer["response"]["allowed"], answer
    for one in json.loads(base64.b64decode(answer["response"]["patch"])):
        *way, last = one["path"].split("/")[1:]
        at = pod
        for part in way:
            at = at[int(part)] if isinstance(at, list) else at[part]
        at[last] = one["value"]
    return pod


@pytest.mark.parametrize(
    ("example", "with_table", "given"),
    [
        ("joint", False, {"gpu": 4, "vf": 2}),
        ("same-pcie-exclusive", False, {"gpu": 4, "vf": 2}),
        ("two-vfs", False, {"vf": 2}),
        ("all-nics", False, {"nic": 8}),
        ("partition", True, {"gpu": 2}),
    ],
)
def test_the_example_gets_the_claim_that_it_names(decider, tables, example, with_table, given):
    pod = admitted(yaml.safe_load((EXAMPLES / f"{example}.yaml").read_text()))
    ask = asked_in_annotation(pod).ask

    found = decider.decide(ask, lambda node: True, tables if with_table else {})
    requests = requests_of_amounts(found.placed, lambda: str(uuid.uuid4()))
    metadata = {"namespace": "default", "name": pod["metadata"]["annotations"][CLAIM], "uid": "u-2"}
    document = claim_document(requests, node=found.node, ask=ask, metadata=metadata)

    asked = document["spec"]["devices"]["requests"]
    assert {one["name"]: one["exactly"]["count"] for one in asked} == given
    assert {one["resourceClaimName"] for one in pod["spec"]["resourceClaims"]} == {metadata["name"]}
    assert len(held_claim(document).exclusive) == (example == "same-pcie-exclusive")


def test_no_partition_is_given_where_the_node_says_of_none(decider):
    pod = admitted(yaml.safe_load((EXAMPLES / "partition.yaml").read_text()))

    found = decider.decide(asked_in_annotation(pod).ask, lambda node: True, {})

    assert found.refused[NODE].detail == "the node has no table of partitions"
