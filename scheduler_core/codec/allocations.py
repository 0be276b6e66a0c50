"""Encodes allocations as API servers store them in ``status.allocation``. Source: resource.k8s.io/v1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.codec.selections import write_selector
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, OpaqueConfig
from scheduler_core.model.nodes import AllNodes, Matching, NodeSelection, OnNode, Operator, Requirement
from scheduler_core.model.result import Allocation
from scheduler_core.model.taints import Toleration


def allocation_result(answer: Allocation, ref: ClaimRef) -> dict[str, Any]:
    """Return one claim's AllocationResult."""
    devices: dict[str, Any] = {"results": [device_result(one) for one in answer.results[ref]]}
    configs = [_config(one) for one in answer.configs[ref]]
    if configs:
        devices["config"] = configs
    selector = node_selector(answer.nodes[ref])
    return {"devices": devices} | ({"nodeSelector": selector} if selector else {})


def claim_status(answer: Allocation, ref: ClaimRef) -> dict[str, Any]:
    """Return the ``status`` of an allocated claim."""
    return {"allocation": allocation_result(answer, ref)}


def device_result(result: AllocatedDevice) -> dict[str, Any]:
    """Return one entry of the results, without fields that are not set."""
    optional = {
        "adminAccess": result.admin_access,
        "tolerations": [_toleration(one) for one in result.tolerations],
        "bindingConditions": list(result.binding.conditions),
        "bindingFailureConditions": list(result.binding.failure_conditions),
        "shareID": result.share_id,
        "skipNodeOperations": list(result.skipped_operations),
        "consumedCapacity": {name: str(amount) for name, amount in result.consumed.items()},
    }
    return place_result(result) | {key: value for key, value in optional.items() if value}


def place_result(result: AllocatedDevice) -> dict[str, Any]:
    """Return only the request and the device of a result."""
    device = result.device
    return {
        "request": result.request,
        "driver": device.driver,
        "pool": device.pool,
        "device": str(device.device),
    }


def _toleration(toleration: Toleration) -> Mapping[str, Any]:
    fields = {
        "key": toleration.key,
        "operator": "Exists" if toleration.exists else "Equal",
        "value": toleration.value,
        "effect": toleration.effect and str(toleration.effect),
        "tolerationSeconds": toleration.seconds,
    }
    return {key: value for key, value in fields.items() if value not in ("", None)}


def _config(config: OpaqueConfig) -> dict[str, Any]:
    source = "FromClass" if config.from_class else "FromClaim"
    requests = {"requests": list(config.requests)} if config.requests else {}
    return {
        "source": source,
        **requests,
        "opaque": {"driver": config.driver, "parameters": dict(config.parameters)},
    }


def node_selector(selection: NodeSelection) -> dict[str, Any] | None:
    """Return the node selector of a result, None where it can be used from every node."""
    match selection:
        case OnNode(name=name):
            return write_selector((Requirement("metadata.name", Operator.IN, (name,), is_field=True),))
        case Matching(requirements=requirements):
            return write_selector(requirements)
        case AllNodes():
            return None


def requirements(selection: NodeSelection) -> list[dict[str, Any]] | None:
    """Return the requirements of the single term, None where there is no selector."""
    selector = node_selector(selection)
    if selector is None:
        return None
    (term,) = selector["nodeSelectorTerms"]
    return [*term.get("matchFields", ()), *term.get("matchExpressions", ())]
