"""PURE: what containers read of the devices of one request, and the CDI document that mounts it.

Takes devices and a claim's names; returns the bytes of files. A file is a stream of JSON objects: the same
content in every version of the format, the newest first, so that every reader finds one that it knows.
Source: KEP-5304 and k8s.io/dynamic-resource-allocation v0.37, packages api/metadata and kubeletplugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from plugin.cdi.document import Device, Document, Edits, Mount, minimum_version
from scheduler_core.model.claim import ClaimRef, ClaimUid

VERSIONS: Final = ("metadata.resource.k8s.io/v1beta1", "metadata.resource.k8s.io/v1alpha1")
"""The versions of the format in Kubernetes 1.37, the newest first. They differ in their names only."""

_CONTAINER_FOLDER: Final = "/var/run/kubernetes.io/dra-device-attributes"
_CLASS: Final = "metadata"
_MOUNT_OPTIONS: Final = ("ro", "bind")

Attribute = Mapping[str, Any]
"""One attribute as a ResourceSlice has it: its type and its value."""


class DeviceFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """One device.

    Shape: ``attributes`` as in ResourceSlices, at most 32; a bare name is the driver's own; ``network_data``
           as in a claim's status, None without an interface.
    """

    driver: str
    pool: str
    name: str
    attributes: Mapping[str, Attribute] = {}
    network_data: Mapping[str, Any] | None = None


class RequestFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The devices of one request. Shape: ``name`` has the alternative (``req/sub``)."""

    name: str
    devices: tuple[DeviceFacts, ...]


class _ClaimNames(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    namespace: str
    uid: str
    generation: int


class _Metadata(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    kind: str
    api_version: str
    metadata: _ClaimNames
    pod_claim_name: str | None = None
    requests: tuple[RequestFacts, ...]


class RequestFile(msgspec.Struct, frozen=True, kw_only=True):
    """What is told of one request.

    Shape: ``pod_claim_name`` how the pod calls a claim that was made from a template, else None.
    """

    request: str
    facts: RequestFacts
    pod_claim_name: str | None = None


def encode(ref: ClaimRef, uid: ClaimUid, file: RequestFile, generation: int) -> bytes:
    """Return the bytes of a request's file. Shape: ``generation`` grows by one with each change."""
    names = _ClaimNames(name=ref.name, namespace=ref.namespace, uid=uid, generation=generation)
    return b"".join(
        _pretty(
            _Metadata(
                kind="DeviceMetadata",
                api_version=version,
                metadata=names,
                pod_claim_name=file.pod_claim_name,
                requests=(file.facts,),
            )
        )
        for version in VERSIONS
    )


def mount_document(driver: str, ref: ClaimRef, uid: ClaimUid, file: RequestFile, host_path: str) -> bytes:
    """Return the bytes of the CDI document that mounts a request's file."""
    folder = (
        f"resourceclaimtemplates/{file.pod_claim_name}"
        if file.pod_claim_name is not None
        else f"resourceclaims/{ref.name}"
    )
    path = f"{_CONTAINER_FOLDER}/{folder}/{file.request}/{driver}-metadata.json"
    mount = Mount(host_path=host_path, container_path=path, options=_MOUNT_OPTIONS)
    device = Device(name=_device_name(uid, file.request), container_edits=Edits(mounts=(mount,)))
    kind = f"{driver}/{_CLASS}"
    version = minimum_version(kind, [device])
    return _pretty(Document(cdi_version=version, kind=kind, devices=(device,), container_edits=Edits()))


def device_id(driver: str, uid: ClaimUid, request: str) -> str:
    """Return the full CDI id that brings a request's file into a container."""
    return f"{driver}/{_CLASS}={_device_name(uid, request)}"


def _device_name(uid: ClaimUid, request: str) -> str:
    return f"{uid}_{request}"


def _pretty(value: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
