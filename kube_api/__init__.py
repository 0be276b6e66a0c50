"""Access to a Kubernetes API server. Imports none of the other packages.

Configuration, credentials and connections come from the ``kubernetes`` package. Objects stay JSON documents,
so fields that this program does not know are written back as they were read.
"""

from kube_api.access import is_allowed
from kube_api.api import KubeApi
from kube_api.contexts import usual_namespace
from kube_api.errors import (
    AlreadyExists,
    ApiError,
    BadReply,
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
    Withheld,
)
from kube_api.events.ledger import EventType, Regarding
from kube_api.events.writer import EventWriter
from kube_api.objects import Listing, Metadata, Object, OwnerReference, Unreadable
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
from kube_api.store import Change, Changed, Store
from kube_api.table import Entry, Key
from kube_api.watch import Disconnected, Removed, Synced, Upserted, WatchEvent
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
    "BadReply",
    "Cause",
    "Change",
    "Changed",
    "Conflict",
    "Disconnected",
    "Entry",
    "EventType",
    "EventWriter",
    "Expired",
    "Forbidden",
    "Invalid",
    "Key",
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
    "Store",
    "Synced",
    "Unavailable",
    "Unreadable",
    "Untrusted",
    "Upserted",
    "WatchEvent",
    "Withheld",
    "is_allowed",
    "usual_namespace",
]
