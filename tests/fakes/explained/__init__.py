"""The situations that ``tangram explain`` is shown in: claims and pods, what is held, and the nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

A = 'device.attributes["tangram.dev"]'
Document = Mapping[str, Any]


def request(name: str, *selectors: str, of: str = "mig", **fields: Any) -> dict[str, Any]:
    """A request for devices of a class of ours; numbers stand for counts."""
    found: dict[str, Any] = {"deviceClassName": f"{of}.tangram.dev", **fields}
    if selectors:
        found["selectors"] = [{"cel": {"expression": one}} for one in selectors]
    return {"name": name, "exactly": found}


def claim(name: str, *requests: Document, constraints: Sequence[Document] = ()) -> dict[str, Any]:
    devices: dict[str, Any] = {"requests": list(requests)}
    if constraints:
        devices["constraints"] = list(constraints)
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "team-b"},
        "spec": {"devices": devices},
    }


def held(name: str, *devices: str, node: str = "a100x2") -> dict[str, Any]:
    """A claim of team-a that has devices."""
    results = [{"request": "gpu", "driver": "tangram.dev", "pool": node, "device": one} for one in devices]
    found = claim(name, request("gpu"))
    return {
        **found,
        "metadata": {"name": name, "namespace": "team-a"},
        "status": {"allocation": {"devices": {"results": results}}},
    }


def pod(amounts: Mapping[str, str | int], **annotations: Any) -> dict[str, Any]:
    """A pod that asks for amounts of resources. Shape: ``annotations`` by Koordinator's names."""
    marks = {
        f"scheduling.koordinator.sh/{name.replace('_', '-')}": json.dumps(value)
        for name, value in annotations.items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train", "namespace": "team-b", "annotations": marks},
        "spec": {"containers": [{"name": "c", "image": "train", "resources": {"limits": dict(amounts)}}]},
    }


def of_model(name: str) -> dict[str, Any]:
    """A hint that selects GPUs by their model."""
    return {"gpu": {"selector": {"matchLabels": {"productName": name}}}}


def profile(name: str) -> str:
    return f'{A}.profile == "{name}"'


@dataclass(frozen=True)
class Situation:
    """One situation. ``nodes`` are machines by the name of their node; ``changed`` edits the slices' text;

    ``pods`` ask by amounts, and are explained in the place of claims.
    """

    name: str
    documents: tuple[Document, ...] = ()
    pods: tuple[Document, ...] = ()
    options: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ("a100x2",)
    form: str = "composite"
    changed: Callable[[list[dict[str, Any]]], None] = lambda slices: None


def mine(*selectors: str, **fields: Any) -> dict[str, Any]:
    return claim("train", request("gpu", *selectors, **fields))


def parts(count: int, name: str = "1g.5gb", **constraint: Any) -> dict[str, Any]:
    requests = [request(f"part-{number}", profile(name)) for number in range(count)]
    return claim("train", *requests, constraints=[constraint] if constraint else [])


def unhealthy(slices: list[dict[str, Any]]) -> None:
    """Give every whole GPU and partition of gpu-0 a taint."""
    for one in slices:
        for device in one["spec"].get("devices", ()):
            if device["name"].startswith("gpu-0"):
                device["taints"] = [
                    {"key": "health.tangram.dev/xid-reset", "value": "48", "effect": "NoSchedule"}
                ]


def one_is_missing(slices: list[dict[str, Any]]) -> None:
    for one in slices:
        one["spec"]["pool"]["resourceSliceCount"] += 1


WHOLE = held("infer-1", "gpu-0")
BOTH = (WHOLE, held("infer-2", "gpu-1"))
MIXED = (
    held("infer-1", "gpu-0-mig-3g-20gb-0-3"),
    held("infer-2", "gpu-0-mig-3g-20gb-4-7"),
    held("notebook", "gpu-1-mig-1g-5gb-0"),
)
FOUR = ("a100-1", "a100-2", "a100-3", "bare")

SITUATIONS = [
    Situation("no-device-has-the-value", (mine(profile("9g.90gb")),)),
    Situation("value-misspelt", (mine(profile("1g.5bg")),)),
    Situation("attribute-misspelt", (mine(f'{A}.profil == "1g.5gb"'),)),
    Situation(
        "attribute-of-another-domain", (mine('device.attributes["gpu.nvidia.com"].profile == "1g.5gb"'),)
    ),
    Situation("second-term-leaves-nothing", (mine(f'{profile("3g.20gb")} && {A}.architecture == "hopper"'),)),
    Situation("second-selector-leaves-nothing", (mine(profile("3g.20gb"), f'{A}.type == "gpu"'),)),
    Situation("either-of-two-values", (mine(f"{profile('9g.90gb')} || {profile('8g.80gb')}"),)),
    Situation("class-leaves-nothing", (mine(of="vf"),)),
    Situation("amount-of-capacity-too-large", (mine(of="gpu", capacity={"requests": {"memory": "100Gi"}}),)),
    Situation(
        "capacity-in-a-selector-too-large",
        (mine('device.capacity["tangram.dev"].memory.compareTo(quantity("100Gi")) >= 0', of="gpu"),),
    ),
    Situation("whole-gpu-held", (*BOTH, mine(profile("1g.5gb")))),
    Situation("whole-gpu-held-in-v1", (*BOTH, mine(profile("1g.5gb"))), form="v1"),
    Situation("memory-slices-held", (*MIXED, mine(profile("7g.40gb")))),
    Situation("parts-of-the-gpu-held", (*MIXED, mine(of="gpu"))),
    Situation("three-claims-have-to-end", (*MIXED, mine(of="gpu", count=2))),
    Situation("more-than-there-are", (mine(profile("7g.40gb"), count=3),)),
    Situation("fewer-would-fit", (WHOLE, mine(profile("1g.5gb"), count=8))),
    Situation("together-they-do-not-fit", (WHOLE, parts(8))),
    Situation("two-claims-together", (WHOLE, mine(of="gpu"), claim("second", request("gpu", of="gpu")))),
    Situation("constraint-on-one-gpu", (parts(8, matchAttribute="tangram.dev/parentUUID"),)),
    Situation("constraint-no-device-has", (parts(2, matchAttribute="tangram.dev/rack"),)),
    Situation("constraint-distinct", (parts(3, distinctAttribute="tangram.dev/parentUUID"),)),
    Situation("all-devices-one-held", (WHOLE, mine(of="gpu", allocationMode="All"))),
    Situation(
        "no-alternative-fits",
        (
            *BOTH,
            claim(
                "train",
                {
                    "name": "gpu",
                    "firstAvailable": [
                        {"name": "whole", "deviceClassName": "gpu.tangram.dev"},
                        {
                            "name": "part",
                            "deviceClassName": "mig.tangram.dev",
                            "selectors": [{"cel": {"expression": profile("3g.20gb")}}],
                        },
                    ],
                },
            ),
        ),
    ),
    Situation(
        "both-requests-misspelt",
        (claim("train", request("small", profile("1g.5bg")), request("large", profile("3g.20bg"))),),
    ),
    Situation("value-misspelt-and-gpus-held", (*BOTH, mine(profile("1g.5bg")))),
    Situation("other-type-and-gpus-held", (*BOTH, mine(profile("3g.20gb"), f'{A}.type == "gpu"'))),
    Situation(
        "too-much-memory-and-gpus-held", (*BOTH, mine(of="gpu", capacity={"requests": {"memory": "80Gi"}}))
    ),
    Situation(
        "value-misspelt-and-node-full",
        (*BOTH, mine(profile("1g.5bg"))),
        options=("--node-name", "a100x2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation("constraint-and-gpu-held", (WHOLE, parts(8, matchAttribute="tangram.dev/rack"))),
    Situation("gpu-unhealthy", (held("infer-2", "gpu-1"), mine(of="gpu")), form="v1", changed=unhealthy),
    Situation("slices-missing", (mine(of="gpu", allocationMode="All"),), form="v1", changed=one_is_missing),
    Situation(
        "another-node-fits",
        (*BOTH, mine(of="gpu")),
        options=("--node-name", "a100x2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation(
        "nodes-with-the-same-reason",
        (*(held(f"infer-{node}", "gpu-0", "gpu-1", node=node) for node in FOUR[:3]), mine(profile("1g.5gb"))),
        nodes=FOUR,
    ),
    Situation(
        "why-not-a-device-of-another-class",
        (*MIXED, mine(profile("1g.5gb"))),
        options=("--why-not", "a100x2/gpu-0"),
    ),
    Situation(
        "why-not-a-held-device",
        (*MIXED, mine(profile("1g.5gb"))),
        options=("--why-not", "gpu-0-mig-1g-5gb-0"),
    ),
    Situation(
        "why-not-a-free-device",
        (*MIXED, mine(profile("1g.5gb"))),
        options=("--why-not", "gpu-1-mig-1g-5gb-6"),
    ),
    Situation(
        "why-not-a-node-that-fits",
        (*MIXED, mine(profile("1g.5gb"))),
        options=("--why-not", "a100-2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation(
        "why-not-a-full-node",
        (*MIXED, mine(of="gpu")),
        options=("--why-not", "a100x2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation("fits-best-fit", (*MIXED, mine(profile("1g.5gb"))), nodes=("a100x2", "a100-2", "bare")),
    Situation(
        "fits-and-other-nodes-are-alike",
        (held("infer-1", "gpu-0", node="a100-1"), mine(of="gpu")),
        nodes=(*(f"a100-{number}" for number in range(1, 13)), "bare"),
    ),
    Situation(
        "fits-first-fit",
        (*MIXED, mine(profile("2g.10gb"))),
        options=("--policy", "first-fit"),
        nodes=("bare", "a100x2", "a100-2"),
    ),
    Situation("pod-gpus-held", (WHOLE,), (pod({"nvidia.com/gpu": 2}),)),
    Situation("pod-parts-of-gpus-held", MIXED, (pod({"nvidia.com/gpu": 1}),), form="v1"),
    Situation(
        "pod-label-misspelt",
        pods=(pod({"nvidia.com/gpu": 1}, device_allocate_hint=of_model("NVIDIA A100-SXM4-40G")),),
    ),
    Situation(
        "pod-label-has-another-name",
        pods=(
            pod(
                {"nvidia.com/gpu": 1},
                device_allocate_hint={
                    "gpu": {"selector": {"matchLabels": {"productNam": "NVIDIA A100-SXM4-40GB"}}}
                },
            ),
        ),
    ),
    Situation("pod-asks-for-a-part-of-whole-gpus", pods=(pod({"koordinator.sh/gpu-memory": "100Gi"}),)),
    Situation("pod-more-than-there-are", pods=(pod({"nvidia.com/gpu": 3}),)),
    Situation(
        "pod-gpu-unhealthy",
        (held("infer-2", "gpu-1"),),
        (pod({"nvidia.com/gpu": 1}),),
        form="v1",
        changed=unhealthy,
    ),
    Situation(
        "pod-scope-too-small",
        pods=(
            pod(
                {"nvidia.com/gpu": 2},
                device_allocate_hint={"gpu": {"requiredTopologyScope": "Device"}},
            ),
        ),
    ),
    Situation(
        "pod-label-misspelt-and-gpus-held",
        BOTH,
        (pod({"nvidia.com/gpu": 1}, device_allocate_hint=of_model("NVIDIA A100-SXM4-40G")),),
    ),
    Situation(
        "pod-another-node-fits",
        BOTH,
        (pod({"nvidia.com/gpu": 1}),),
        options=("--node-name", "a100x2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation(
        "pod-nodes-with-the-same-reason",
        tuple(held(f"infer-{node}", "gpu-0", "gpu-1", node=node) for node in FOUR[:3]),
        (pod({"nvidia.com/gpu": 1}),),
        nodes=FOUR,
    ),
    Situation(
        "pod-why-not-a-full-node",
        BOTH,
        (pod({"nvidia.com/gpu": 1}),),
        options=("--why-not", "a100x2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation(
        "pod-why-not-a-node-that-fits",
        pods=(pod({"nvidia.com/gpu": 1}),),
        options=("--why-not", "a100-2"),
        nodes=("a100x2", "a100-2"),
    ),
    Situation(
        "pod-why-not-a-held-device",
        (WHOLE,),
        (pod({"nvidia.com/gpu": 1}),),
        options=("--why-not", "gpu-0"),
    ),
    Situation(
        "pod-why-not-a-device-of-another-model",
        pods=(pod({"nvidia.com/gpu": 1}, device_allocate_hint=of_model("NVIDIA A100-SXM4-80GB")),),
        options=("--why-not", "gpu-0"),
    ),
]
