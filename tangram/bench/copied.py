"""Copies of a node: the same devices under another node's name."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from scheduler_core.model.device import Device
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import Pool, PoolId

_UUID: Final = "GPU-"


def renamed(pool: Pool, node: str, number: int) -> Pool:
    """Return the pool as another node's, with UUIDs that no other node has."""
    where = OnNode(node)
    return replace(
        pool,
        id=PoolId(pool.id.driver, node),
        devices=tuple([_moved(device, where, f"{_UUID}{number:04x}") for device in pool.devices]),
        seen_from=(where,),
    )


def _moved(device: Device, node: OnNode, uuid: str) -> Device:
    own = {
        key: uuid + value.removeprefix(_UUID)
        for key, value in device.attributes.items()
        if type(value) is str and value.startswith(_UUID)
    }
    return replace(device, nodes=node, attributes={**device.attributes, **own})
