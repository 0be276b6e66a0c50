"""Which GPUs of which nodes the devices of a pool that no node owns consist of.

Takes and returns the text of the annotation ``tangram.dev/members`` of slices
(docs/decisions/0065-gpus-of-many-nodes.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from scheduler_core.base.errors import InvalidSlice
from scheduler_core.model.device import DeviceName
from scheduler_core.model.ownership import MEMBERS, MULTI_NODE

Members = Mapping[DeviceName, Mapping[str, tuple[int, ...]]]
"""The minors of a device's GPUs, by device and node."""
_RULE: Final = 'must map devices to nodes and these to minors, such as {"pair": {"node-1": [0, 1]}}'


def encode_members(members: Members) -> str:
    """Return the text of the annotation. Shape: equal for equal members."""
    return json.dumps(members, sort_keys=True, separators=(",", ":"))


def members_of(slices: Iterable[Mapping[str, Any]]) -> Members:
    """Return the members that slices of one pool name, none where they have no such annotation.

    Raises: InvalidSlice for a text that is not an annotation of this kind.
    """
    found: dict[DeviceName, Mapping[str, tuple[int, ...]]] = {}
    for one in slices:
        metadata = one.get("metadata") or {}
        text = (metadata.get("annotations") or {}).get(MEMBERS)
        if text is not None and str(one["spec"]["pool"]["name"]).startswith(MULTI_NODE):
            found |= _decoded(f"ResourceSlice {metadata.get('name')}", text)
    return found


def _decoded(subject: str, text: str) -> Members:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or not all(map(_is_nodes, content.values())):
        raise InvalidSlice(subject, f"metadata.annotations[{MEMBERS}]", text, _RULE)
    return {
        DeviceName(device): {node: tuple(minors) for node, minors in nodes.items()}
        for device, nodes in content.items()
    }


def _is_nodes(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_minors, value.values()))


def _is_minors(value: object) -> bool:
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)
