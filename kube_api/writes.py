"""Requests that change something, as values.

Takes documents and conditions; returns calls. Each says whether it may be sent twice. Nothing is sent here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast

import msgspec

from kube_api.calls import Call, is_any_kind, on_object
from kube_api.objects import to_body
from kube_api.resources import Resource


class PatchKind(Enum):
    """How the server reads the body of a patch, as its content type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    APPLY = "application/apply-patch+yaml"
    STRATEGIC = "application/strategic-merge-patch+json"


def creation(
    resource: Resource,
    document: Mapping[str, Any],
    namespace: str | None,
    subresource: str | None,
    dry_run: bool,
) -> Call:
    """Return the request that stores a new object, or, as a dry run, asks how it would be stored.

    Raises: ValueError if the namespace does not fit the kind.
    """
    metadata = document.get("metadata", {})
    namespace = namespace or metadata.get("namespace")
    owner = metadata.get("name") if subresource else None
    return Call(
        attempted=f"create {subresource} of" if subresource else "create",
        method="POST",
        path=resource.path(namespace, owner, subresource),
        resource=resource,
        name=metadata.get("name") or metadata.get("generateName", ""),
        namespace=namespace or "",
        query={"dryRun": "All"} if dry_run else {},
        body=to_body(document, resource),
        is_repeatable=dry_run,
        is_any_kind=is_any_kind(subresource),
    )


def replacement(
    resource: Resource, document: Mapping[str, Any], namespace: str | None, subresource: str | None
) -> Call:
    """Return the request that replaces the object whose version the document names.

    Raises: ValueError if the namespace does not fit the kind.
    """
    metadata = document.get("metadata", {})
    name = metadata.get("name", "")
    namespace = namespace or metadata.get("namespace")
    body = to_body(document, resource)
    return on_object("replace", "PUT", resource, name, namespace, subresource=subresource, body=body)


def patching(
    resource: Resource,
    name: str,
    body: Mapping[str, Any] | Sequence[Any],
    namespace: str | None,
    *,
    kind: PatchKind,
    field_manager: str | None,
    force: bool,
    subresource: str | None,
) -> Call:
    """Return the request that changes parts of an object, or applies a configuration to it.

    Raises: ValueError for an apply without ``field_manager``, or if the namespace does not fit the kind.
    """
    is_apply = kind is PatchKind.APPLY
    if is_apply and not field_manager:
        raise ValueError(f"apply of {resource.kind} {name} needs a field manager")
    return on_object(
        "apply" if is_apply else "patch",
        "PATCH",
        resource,
        name,
        namespace,
        subresource=subresource,
        query={"fieldManager": field_manager or "", "force": "true" if force else ""},
        body=to_body(cast("Mapping[str, Any]", body), resource) if is_apply else msgspec.json.encode(body),
        content_type=kind.value,
        is_repeatable=kind is not PatchKind.JSON,
    )


def deletion(
    resource: Resource, name: str, namespace: str | None, uid: str | None, resource_version: str | None
) -> Call:
    """Return the request that deletes an object, only if it still has this UID and version.

    Raises: ValueError if the namespace does not fit the kind.
    """
    conditions = {"uid": uid, "resourceVersion": resource_version}
    options = {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {key: value for key, value in conditions.items() if value},
    }
    return on_object("delete", "DELETE", resource, name, namespace, body=msgspec.json.encode(options))
