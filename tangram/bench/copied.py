"""Copies of a node: the same devices under another node's name."""

from __future__ import annotations

from dataclasses import replace

from scheduler_core.model.device import Device
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import Pool, PoolId


def renamed(pool: Pool, node: str, number: int) -> Pool:
    """Return the pool as another node's, with UUIDs that no other node has."""
    return replace(
        pool,
        id=PoolId(pool.id.driver, node),
        devices=tuple(_moved(device, OnNode(node), f"GPU-{number:04x}") for device in pool.devices),
        seen_from=(OnNode(node),),
    )


def _moved(device: Device, node: OnNode, uuid: str) -> Device:
    attributes = {
        key: uuid + value.removeprefix("GPU-")
        if isinstance(value, str) and value.startswith("GPU-")
        else value
        for key, value in device.attributes.items()
    }
    return replace(device, nodes=node, attributes=attributes)
