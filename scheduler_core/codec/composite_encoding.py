"""Encodes slices of the composite dialect, as ``composite`` decodes them."""

from __future__ import annotations

from typing import Any

from scheduler_core.codec.amounts import write_policy
from scheduler_core.codec.attributes import write_attributes
from scheduler_core.codec.composite import API_VERSION, KIND
from scheduler_core.codec.selections import write_selection
from scheduler_core.codec.v1_device import write_taint
from scheduler_core.model.composite import CompositeDevice, CompositeSlice, Mixin
from scheduler_core.model.device import DeviceName, QualifiedName
from scheduler_core.model.names import bare


def encode_slice(composite: CompositeSlice) -> dict[str, Any]:
    """Return the slice as a ``CompositeResourceSlice`` object, without broken entries."""
    selection = (
        {"nodeSelectionDelegated": True} if composite.nodes is None else write_selection(composite.nodes)
    )
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": composite.name},
        "spec": {
            "driver": composite.pool.driver,
            "pool": {
                "name": composite.pool.name,
                "generation": composite.generation,
                "resourceSliceCount": composite.slice_count,
            },
            **selection,
            **_listed(
                "deviceMixins", [_write_mixin(mixin, composite.pool.driver) for mixin in composite.mixins]
            ),
            **_listed(
                "devices", [_write_device(device, composite.pool.driver) for device in composite.devices]
            ),
        },
    }


def _listed(key: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {key: entries} if entries else {}


def _write_mixin(mixin: Mixin, driver: str) -> dict[str, Any]:
    return {"name": mixin.name, "composite": _write_properties(mixin, driver)}


def _write_device(device: CompositeDevice, driver: str) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if device.includes:
        body["includes"] = [{"name": name} for name in device.includes]
    if device.sources:
        body["consumesCapacityFrom"] = [_write_source(device, name) for name in device.sources]
    if device.only_with is not None:
        body["compatibleOnlyWith"] = {"expression": device.only_with}
    if device.is_shareable:
        body["allowMultipleAllocations"] = True
    if device.nodes is not None:
        body |= write_selection(device.nodes)
    body |= _write_properties(device, driver)
    if device.taints:
        body["taints"] = [write_taint(taint) for taint in device.taints]
    return {"name": device.name, "basic" if device.is_basic else "composite": body}


def _write_source(device: CompositeDevice, name: DeviceName) -> dict[str, Any]:
    groups = device.groups.get(name)
    return {"name": name} | ({"compatibilityGroups": sorted(groups)} if groups else {})


def _write_properties(entry: Mixin | CompositeDevice, driver: str) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if entry.attributes:
        body["attributes"] = write_attributes(entry.attributes, driver)
    if entry.capacity:
        body["capacity"] = {
            bare(name, driver): {"quantity": str(entry.capacity[name])} | _write_policy(entry, name)
            for name in sorted(entry.capacity, key=lambda name: bare(name, driver))
        }
    return body


def _write_policy(entry: Mixin | CompositeDevice, name: QualifiedName) -> dict[str, Any]:
    policy = entry.policies.get(name)
    return {} if policy is None else {"requestPolicy": write_policy(policy)}
