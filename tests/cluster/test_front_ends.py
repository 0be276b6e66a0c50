"""Aligned claims and NVLink partitions: kube-scheduler gives what the core gives on the same slices.

The node is an object with the slices of a simulated DGX A100, which has NICs, VFs and a table of
partitions; pods are placed there and never run.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from bare_node import install_classes, publishing
from cluster_support import Document, eventually, pod
from story import DRIVER, ROOT, devices, refusal, slices

from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, KubeApi, NotFound
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_allocated_claim, decode_claim, decode_class
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation

Devices = Mapping[str, Mapping[str, Any]]
Result = list[tuple[str, str]]
EXAMPLES = "deploy/examples"
SWITCH, ROOT_COMPLEX, PF = "pcieSwitch", "resource.kubernetes.io/pcieRoot", "pfPciAddress"
GROUPS = ([n] for n in range(8)), ([0, 1], [2, 3], [4, 5], [6, 7]), ([0, 1, 2, 3], [4, 5, 6, 7]), [range(8)]
TABLE = {
    str(size): [{"minors": list(minors), "gpuLinkType": "NVLink", "allocationScore": 1} for minors in groups]
    for size, groups in zip((1, 2, 4, 8), GROUPS, strict=True)
}


@pytest.fixture(scope="module")
def node(api: KubeApi, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node of GPUs and NICs, with a table of partitions."""
    name, folder = f"linked-{uuid.uuid4().hex[:8]}", tmp_path_factory.mktemp("linked")
    (folder / "table.json").write_text(json.dumps(TABLE))
    install_classes(api, f"{EXAMPLES}/device-classes.yaml")
    options = ("--simulated=dgx-a100", f"--partitions={folder / 'table.json'}", "--no-composite")
    with publishing(api, kubeconfig, name, folder, *options):
        yield name


class Asked:
    """Claims in a namespace, each with a pod that only this node can have."""

    def __init__(self, api: KubeApi, namespace: str, node: str) -> None:
        self.api, self.namespace, self.node = api, namespace, node
        self.names: list[str] = []

    def both(self, name: str, claim: Document) -> tuple[Result | None, Result | None]:
        """Return what the core and what the scheduler give to a claim, None where they refuse it."""
        body = {"metadata": {"name": name, "namespace": self.namespace}, "spec": claim["spec"]}
        of_core = self._core(body)
        self._create(name, body)
        if of_core is None:
            return None, (None if "cannot allocate" in refusal(self.api, name, self.namespace) else [])
        return of_core, eventually(lambda: self.results(name), f"claim {name} is allocated: {of_core}")

    def _core(self, claim: Document) -> Result | None:
        held = [decode_allocated_claim(one.document) for one in self.api.list(RESOURCE_CLAIMS).items]
        classes = [decode_class(one.document) for one in self.api.list(DEVICE_CLASSES).items]
        cluster = Cluster(
            pools=v1.pools(v1.decode_slice(one) for one in slices(self.api, self.node)),
            classes={one.name: one for one in classes},
            allocated=tuple(one for one in held if one is not None),
        )
        asked = decode_claim(claim)
        answer = allocate([asked], cluster, Node(self.node, {"kubernetes.io/hostname": self.node}))
        if not isinstance(answer, Allocation):
            return None
        return [(one.request, str(one.device.device)) for one in answer.results[asked.ref]]

    def _create(self, name: str, claim: Document) -> None:
        self.api.create(RESOURCE_CLAIMS, claim, self.namespace)
        document = pod(
            name,
            claims={"devices": name},
            nodeSelector={"kubernetes.io/hostname": self.node},
            tolerations=[{"operator": "Exists"}],
            automountServiceAccountToken=False,
        )
        self.api.create(PODS, document, self.namespace)
        self.names.append(name)

    def results(self, name: str) -> Result | None:
        """Return what a claim has now, None while it has nothing."""
        status = self.api.get(RESOURCE_CLAIMS, name, self.namespace).document.get("status") or {}
        results = (status.get("allocation") or {}).get("devices", {}).get("results", [])
        return [(one["request"], one["device"]) for one in results] or None

    def end(self) -> None:
        """Delete all, and wait until nothing is held."""
        for name in self.names:
            for resource in (PODS, RESOURCE_CLAIMS):
                with suppress(NotFound):
                    self.api.delete(resource, name, self.namespace)
        eventually(lambda: not self.api.list(RESOURCE_CLAIMS, self.namespace).items, "all claims are gone")


@pytest.fixture
def asked(api: KubeApi, namespace: str, node: str) -> Iterator[Asked]:
    made = Asked(api, namespace, node)
    yield made
    made.end()


def example(name: str) -> Document:
    found = yaml.safe_load_all((ROOT / EXAMPLES / f"{name}-claim.yaml").read_text())
    (claim,) = (one for one in found if one["kind"] == "ResourceClaim")
    return dict(claim)


def claim_of(kind: str, expression: str = "true") -> Document:
    exactly = {"deviceClassName": f"{kind}.{DRIVER}", "selectors": [{"cel": {"expression": expression}}]}
    return {"spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}}


def linked(count: int) -> Document:
    return claim_of("gpu-partition", f'device.attributes["{DRIVER}"].gpuCount == {count}')


def values(result: Result, known: Devices, attribute: str, *requests: str) -> list[Any]:
    return [known[name].get(attribute) for request, name in result if not requests or request in requests]


def stands_together(result: Result, known: Devices, attribute: str, *requests: str) -> bool:
    found = values(result, known, attribute, *requests)
    return len(found) == 2 and found[0] is not None and found[0] == found[1]


MEANT: dict[str, Callable[[Result, Devices], bool]] = {
    "gpu-vf": lambda result, known: stands_together(result, known, SWITCH),
    "mig-vf": lambda result, known: stands_together(result, known, ROOT_COMPLEX),
    "two-pairs": lambda result, known: (
        stands_together(result, known, SWITCH, "gpu-0", "vf-0")
        and stands_together(result, known, SWITCH, "gpu-1", "vf-1")
    ),
    "two-nics": lambda result, known: (
        values(result, known, "type") == ["vf", "vf"] and len(set(values(result, known, PF))) == 2
    ),
    "all-nics": lambda result, known: (
        {name for _, name in result} == {name for name, one in known.items() if one["type"] == "nic"}
    ),
    "gpu-partition": lambda result, known: values(result, known, "gpuCount") == [4],
}


@pytest.mark.parametrize("name", MEANT)
def test_the_scheduler_gives_an_examples_claim_what_it_means_and_the_core_gives_the_same(
    api: KubeApi, node: str, asked: Asked, name: str
) -> None:
    of_core, of_scheduler = asked.both("claim", example(name))

    assert of_scheduler is not None
    assert MEANT[name](of_scheduler, devices(api, node)), of_scheduler
    assert of_scheduler == of_core


def test_partitions_single_gpus_and_mig_exclude_each_other(asked: Asked) -> None:
    steps = {
        "mig": (claim_of("mig"), "gpu-0-mig-1g-10gb-0-1"),
        "pair": (linked(2), "gpus-2-3"),
        "single": (claim_of("gpu"), "gpu-1"),
        "four": (linked(4), "gpus-4-5-6-7"),
        "another-pair": (linked(2), None),
        "all-eight": (linked(8), None),
        "another-single": (claim_of("gpu"), None),
        "mig-of-a-pair": (claim_of("mig", f'device.attributes["{DRIVER}"].parentMinor == 3'), None),
        "another-mig": (claim_of("mig"), "gpu-0-mig-1g-10gb-2-3"),
    }

    found = {name: asked.both(name, claim) for name, (claim, _) in steps.items()}

    for name, (_, device) in steps.items():
        of_core, of_scheduler = found[name]
        assert of_scheduler == of_core, name
        assert of_scheduler == (None if device is None else [("r", device)]), name


def test_what_a_partition_held_is_given_again_once_its_pod_is_gone(asked: Asked) -> None:
    first = asked.both("all-eight", linked(8))
    refused = asked.both("single", claim_of("gpu"))

    asked.api.delete(PODS, "all-eight", asked.namespace)

    assert first == ([("r", "gpus-0-1-2-3-4-5-6-7")],) * 2
    assert refused == (None, None)
    given = eventually(lambda: asked.results("single"), "the GPU is given")
    assert given == [("r", "gpu-0")]
