"""Reads objects so that none ends a watch: what meets an unexpected error becomes a value that says so.

Takes documents; returns values of ``controller.model``. Of what cannot be read, the identity and the devices
that are held still count. Each different error is logged once. Safe between threads.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from controller.gangs.seen import PodGroupSeen, key_of_group, read_pod_group
from controller.model.checked import WrongType
from controller.model.claims import ClaimSeen, named_devices, read_claim
from controller.model.nodes import ClusterNode, read_node
from controller.model.pods import Pod, PodRef, read_pod
from controller.model.slice_text import parse
from controller.model.slices import (
    SliceSeen,
    key_of,
    read_composite_slice,
    read_slice,
    read_slice_text,
)
from scheduler_core.base.errors import CoreError
from scheduler_core.codec import composite
from scheduler_core.codec.claims import decode_class
from scheduler_core.frontends.partitions.node_table import NodeTable
from scheduler_core.model.claim import ClaimRef, DeviceClass
from scheduler_core.model.ownership import GATE

Document = Mapping[str, Any]
_Value = TypeVar("_Value")
_log: Final = logging.getLogger("controller")
_REMEMBERED: Final = 1000  # different errors
_logged: Final[set[str]] = set()


def pod(document: Document) -> Pod:
    """Read a pod. Shape: one that cannot be read waits at our gate, if it has a gate and no node."""
    return _read(read_pod, _broken_pod, document)


def claim(document: Document) -> ClaimSeen:
    """Read a claim."""
    return _read(read_claim, _broken_claim, document)


def node(document: Document) -> ClusterNode:
    """Read a node. Shape: one that cannot be read has no label, so it is not the controller's."""
    return _read(read_node, _broken_node, document)


def resource_slice(document: Document) -> SliceSeen:
    """Read a slice."""
    return _read(read_slice, lambda one, why: SliceSeen(one["metadata"]["name"], "", None, why), document)


def composite_slice(document: Document) -> SliceSeen:
    """Read a composite slice."""
    return _read(
        read_composite_slice,
        lambda one, why: SliceSeen(key_of(composite.KIND, one["metadata"]["name"]), "", None, why),
        document,
    )


def slice_text(text: bytes) -> SliceSeen:
    """Read a slice from its text."""
    try:
        return read_slice_text(text)
    except Exception:  # noqa: BLE001 - the document says which object it is
        return resource_slice(parse(text))


def pod_group(document: Document) -> PodGroupSeen:
    """Read a PodGroup."""
    return _read(read_pod_group, lambda one, why: PodGroupSeen(key_of_group(one), problem=why), document)


def device_class(document: Document) -> DeviceClass | str:
    """Read a class; return why it cannot be read, where that is so."""

    def read(one: Document) -> DeviceClass | str:
        try:
            return decode_class(one)
        except CoreError as error:
            return str(error)

    return _read(read, lambda _, why: why, document)


def _read(
    read: Callable[[Document], _Value], otherwise: Callable[[Document, str], _Value], document: Document
) -> _Value:
    try:
        return read(document)
    except WrongType as error:
        return otherwise(document, f"{_named(document)} cannot be read: {error}")
    except Exception as error:  # noqa: BLE001 - one object must not end the watch of all of its kind
        what = f"{type(error).__name__}: {error}"
        if what not in _logged and len(_logged) < _REMEMBERED:
            _logged.add(what)
            _log.error(
                "reading %s failed with an unexpected error; please report this",
                _named(document),
                exc_info=error,
            )
        return otherwise(document, f"{_named(document)} cannot be read: unexpected error: {what}")


def _named(document: Document) -> str:
    metadata = document["metadata"]
    place = f"{metadata.get('namespace', '')}/{metadata['name']}".lstrip("/")
    return f"{document.get('kind', 'object')} {place}"


def _broken_node(document: Document, why: str) -> ClusterNode:
    return ClusterNode(name=document["metadata"]["name"], table=NodeTable(problem=why))


def _broken_pod(document: Document, why: str) -> Pod:
    metadata, spec = document["metadata"], _object(document.get("spec"))
    node_name = spec.get("nodeName")
    return Pod(
        ref=PodRef(metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        node=node_name if isinstance(node_name, str) else "",
        is_leaving="deletionTimestamp" in metadata,
        gates=(GATE,) if spec.get("schedulingGates") else (),
        problem=why,
    )


def _broken_claim(document: Document, why: str) -> ClaimSeen:
    metadata = document["metadata"]
    return ClaimSeen(
        ref=ClaimRef(metadata["namespace"], metadata["name"]),
        uid=metadata["uid"],
        version=metadata.get("resourceVersion", ""),
        held=named_devices(document),
        is_leaving="deletionTimestamp" in metadata,
        problem=why,
    )


def _object(value: object) -> Document:
    return value if isinstance(value, Mapping) else {}
