"""The kinds of objects of an API server, and their URL paths.

Takes names; returns paths. Whether a server has a kind is known only by asking it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of objects. Shape: ``group`` is empty for the core group."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @classmethod
    def of(cls, api_version: str, kind: str, plural: str, *, namespaced: bool = False) -> Self:
        """Return the kind that ``api_version`` (``tangram.dev/v1alpha1``, ``v1``) and ``kind`` name."""
        group, _, version = api_version.rpartition("/")
        return cls(group, version, plural, kind, namespaced)

    @property
    def api_version(self) -> str:
        """Return what objects carry as ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """Return the URL path of one object, or of all of them without ``name``.

        Raises: ValueError if one object of a namespaced kind lacks its namespace, or the other way round.
        """
        if namespace and not self.namespaced:
            raise ValueError(f"{self.kind} has no namespace, {namespace!r} was given")
        if name is not None and not name:
            raise ValueError(f"the name of a {self.kind} is empty")
        if name and self.namespaced and not namespace:
            raise ValueError(f"{self.kind} {name} needs a namespace")
        parts = ["/apis" if self.group else "/api", self.api_version]
        if namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part]
        return "/".join(parts)


_DRA: Final = "resource.k8s.io/v1"

NODES: Final = Resource.of("v1", "Node", "nodes")
PODS: Final = Resource.of("v1", "Pod", "pods", namespaced=True)
NAMESPACES: Final = Resource.of("v1", "Namespace", "namespaces")
EVENTS: Final = Resource.of("events.k8s.io/v1", "Event", "events", namespaced=True)
RESOURCE_SLICES: Final = Resource.of(_DRA, "ResourceSlice", "resourceslices")
RESOURCE_CLAIMS: Final = Resource.of(_DRA, "ResourceClaim", "resourceclaims", namespaced=True)
RESOURCE_CLAIM_TEMPLATES: Final = Resource.of(
    _DRA, "ResourceClaimTemplate", "resourceclaimtemplates", namespaced=True
)
DEVICE_CLASSES: Final = Resource.of(_DRA, "DeviceClass", "deviceclasses")
