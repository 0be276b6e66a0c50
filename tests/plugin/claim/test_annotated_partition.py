"""A pod that asks for a partition, from its creation to GPUs that the fabric manager has joined for it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.admission.asked_pod import asked_in_annotation
from scheduler_core.frontends.admission.changes import admission_of
from scheduler_core.frontends.placement.decide import DecidedPod, PodDecider
from scheduler_core.frontends.pods.written_claim import claim_document, requests_of_amounts
from scheduler_core.model.ownership import CLAIM
from scheduler_core.state.cluster_state import ClusterState

POD = """
metadata:
  namespace: default
  name: train
  annotations:
    scheduling.koordinator.sh/gpu-partition-spec: '{"allocatePolicy": "BestEffort"}'
spec:
  containers:
  - name: main
    resources: {requests: {nvidia.com/gpu: COUNT}, limits: {nvidia.com/gpu: COUNT}}
"""


def admitted(count: int) -> dict[str, Any]:
    """The pod as the webhook lets it be stored."""
    pod = yaml.safe_load(POD.replace("COUNT", str(count)))
    stored: dict[str, Any] = copy.deepcopy(pod)
    stored["metadata"]["annotations"] = admission_of(pod, "default", "u-1").fields["/metadata/annotations"]
    return stored


@pytest.mark.parametrize(
    ("count", "device", "partition"),
    [(2, "gpus-0-1", 5), (4, "gpus-0-1-2-3", 2), (1, "gpu-0", 11)],
)
def test_the_partition_of_exactly_these_gpus_is_active_while_the_pod_has_its_claim(
    fabric_bench: Any, count: int, device: str, partition: int
) -> None:
    state = ClusterState()
    state.set_pool(fabric_bench.offered())
    pod = admitted(count)
    asked = asked_in_annotation(pod)
    assert asked is not None
    assert asked.ask is not None

    found = PodDecider(Engine(state)).decide(asked.ask, lambda _: True, {})
    assert isinstance(found, DecidedPod)
    metadata = {"namespace": "default", "name": pod["metadata"]["annotations"][CLAIM], "uid": "u1"}
    document = claim_document(requests_of_amounts(found.placed, str), node=found.node, metadata=metadata)
    claim = decode_allocated_claim(document)
    assert claim is not None
    (prepared,) = fabric_bench.driver.prepare(claim)

    assert prepared.device == device
    assert [one.id for one in fabric_bench.simulated.fabric.partitions() if one.is_active] == [partition]
    fabric_bench.unprepare("u1")
    assert fabric_bench.leftovers() == []
