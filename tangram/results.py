"""An allocation as a claim's status: what an API server would store, and what a node reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_core.codec.selections import write_selector
from scheduler_core.model.claim import AllocatedDevice, Claim, DeviceClass, OpaqueConfig
from scheduler_core.model.nodes import AllNodes, Matching, NodeSelection, OnNode, Operator, Requirement
from scheduler_core.model.result import Allocation


def status_of(claim: Claim, allocation: Allocation, classes: Mapping[str, DeviceClass]) -> dict[str, Any]:
    """Return the ``status`` of an allocated claim. Source: resource.k8s.io/v1 AllocationResult."""
    results = allocation.results[claim.ref]
    devices: dict[str, Any] = {"results": [result_of(device) for device in results]}
    configs = list(_configs(claim, results, classes))
    if configs:
        devices["config"] = configs
    selector = _node_selector(allocation.nodes[claim.ref])
    return {"allocation": {"devices": devices} | ({"nodeSelector": selector} if selector else {})}


def result_of(device: AllocatedDevice) -> dict[str, str]:
    """Return one entry of the results."""
    place = device.device
    return {
        "request": device.request,
        "driver": place.driver,
        "pool": place.pool,
        "device": place.device,
    }


def _configs(
    claim: Claim, results: tuple[AllocatedDevice, ...], classes: Mapping[str, DeviceClass]
) -> Iterator[dict[str, Any]]:
    """Yield the configuration of the classes in use, then the claim's own."""
    used = dict.fromkeys(result.request for result in results)
    by_class: dict[str, list[str]] = {}
    for request in claim.requests:
        for alternative in request.alternatives:
            if alternative.name in used:
                by_class.setdefault(alternative.class_name, []).append(alternative.name)
    for class_name, requests in by_class.items():
        for config in classes[class_name].configs:
            yield _config("FromClass", config, tuple(requests))
    for config in claim.configs:
        yield _config("FromClaim", config, config.requests)


def _config(source: str, config: OpaqueConfig, requests: tuple[str, ...]) -> dict[str, Any]:
    opaque = {"driver": config.driver, "parameters": dict(config.parameters)}
    return {"source": source, "requests": list(requests), "opaque": opaque}


def _node_selector(nodes: NodeSelection) -> dict[str, Any] | None:
    match nodes:
        case OnNode(name=name):
            return write_selector((Requirement("metadata.name", Operator.IN, (name,), is_field=True),))
        case Matching(requirements=requirements):
            return write_selector(requirements)
        case AllNodes():
            return None
