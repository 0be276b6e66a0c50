"""Slices as API servers send them: JSON text to the model.

Of a v1 slice only the frame is parsed here. The attributes, capacities, counters and taints of its devices go
to the core as text, which parses the ones that it has not met before.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from scheduler_core.codec import v1
from scheduler_core.codec.v1 import V1Slice

_NONE: Final = msgspec.Raw(b"")


class _Device(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A ``DeviceText``."""

    name: str
    attributes: msgspec.Raw = _NONE
    capacity: msgspec.Raw = _NONE
    consumes_counters: msgspec.Raw = _NONE
    taints: msgspec.Raw = _NONE


class _Spec(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The fields of most slices. What is None counts as missing."""

    driver: Any = None
    pool: Any = None
    node_name: Any = None
    node_selector: Any = None
    all_nodes: Any = None
    per_device_node_selection: Any = None
    shared_counters: Any = None
    devices: list[_Device] = []


class _Metadata(msgspec.Struct):
    name: Any = None
    namespace: Any = None


class _Slice(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


_frames: Final = msgspec.json.Decoder(_Slice)
_spec_fields: Final = [(field.name, field.encode_name) for field in msgspec.structs.fields(_Spec)]


def read_v1_slice(text: bytes) -> V1Slice:
    """Read one v1 slice.

    Raises: InvalidSlice where the object as a whole cannot be read; msgspec.DecodeError for no JSON.
    """
    try:
        frame = _frames.decode(text)
    except msgspec.ValidationError:  # it has fields that few slices have, or a mistake: the codec says which
        return v1.decode_slice(parse(text))
    metadata = {"name": frame.metadata.name, "namespace": frame.metadata.namespace}
    spec = {written: getattr(frame.spec, name) for name, written in _spec_fields}
    return v1.decode_slice({"metadata": metadata, "spec": spec}, parse)


def parse(text: bytes) -> Any:
    """Return what a JSON text says. Raises: msgspec.DecodeError."""
    return msgspec.json.decode(text)
