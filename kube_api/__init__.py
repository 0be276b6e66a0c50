"""Access to a Kubernetes API server. Imports none of the other packages; programs hand it in as a port.

Configuration, credentials and connections are the ``kubernetes`` package's; objects are read and written as
they travel, so that fields which this program does not know survive.
"""

from kube_api.api import KubeApi
from kube_api.errors import (
    AlreadyExists,
    ApiError,
    Cause,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeApiError,
    NotConfigured,
    NotFound,
    Unavailable,
    Untrusted,
)
from kube_api.event_writer import EventWriter
from kube_api.events import EventType, Regarding
from kube_api.objects import Listing, Metadata, Object, OwnerReference
from kube_api.pacing import Limits
from kube_api.resources import (
    DEVICE_CLASSES,
    EVENTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Resource,
)
from kube_api.watch import Change, Disconnected, Removed, Synced, Upserted
from kube_api.writes import PatchKind

__all__ = [
    "DEVICE_CLASSES",
    "EVENTS",
    "NAMESPACES",
    "NODES",
    "PODS",
    "RESOURCE_CLAIMS",
    "RESOURCE_CLAIM_TEMPLATES",
    "RESOURCE_SLICES",
    "AlreadyExists",
    "ApiError",
    "Cause",
    "Change",
    "Conflict",
    "Disconnected",
    "EventType",
    "EventWriter",
    "Expired",
    "Forbidden",
    "Invalid",
    "KubeApi",
    "KubeApiError",
    "Limits",
    "Listing",
    "Metadata",
    "NotConfigured",
    "NotFound",
    "Object",
    "OwnerReference",
    "PatchKind",
    "Regarding",
    "Removed",
    "Resource",
    "Synced",
    "Unavailable",
    "Untrusted",
    "Upserted",
]
