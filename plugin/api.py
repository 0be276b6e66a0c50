"""The API server as the plugin needs it: adapters from ``kube_api`` to its ports.

No other module of the plugin names ``kube_api``. Every failure is raised as one of the plugin's errors.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

from agent.inventory.numbers.kept import NumbersUnknown
from daemon.authorization import Review, reviewing
from daemon.oldest_server import NEEDED_API, refusal
from kube_api import (
    NODES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    ApiError,
    Conflict,
    EventWriter,
    Invalid,
    KubeApi,
    KubeApiError,
    Limits,
    NotConfigured,
    NotFound,
    Object,
    PatchKind,
    Regarding,
    Unavailable,
    is_allowed,
)
from plugin.base.errors import ClaimUnreadable, ClaimUnusable, ReportFailed
from plugin.options import Options
from scheduler_core.base.errors import CoreError
from scheduler_core.codec.members import Members, members_of
from scheduler_core.frontends.configuration.decode import parse_json
from scheduler_core.model.claim import ClaimRef, ClaimUid
from scheduler_core.model.ownership import MULTI_NODE, POOL_LABEL

# The kubelet waits 45 s for a call and then calls again by itself, so an early failure is better.
_LIMITS: Final = Limits(read_timeout_s=10.0, attempts=2, longest_delay_s=1.0, longest_retry_after_s=2.0)
_REVIEWS: Final = Limits(calls_per_s=5.0, burst=10, call_timeout_s=5.0, attempts=1)
_RETRIED: Final = "it is retried; if it persists, check the API server and the network to it"
_NOT_SERVED: Final = f"the API server does not serve {NEEDED_API}"
_UPGRADE: Final = (
    "the administrator upgrades the control plane to Kubernetes 1.34 or newer, or turns this API on"
)
_MANAGER_SIZE: Final = 128  # characters; the API server refuses longer names of field managers
_PARAMETERS: Final = b'"opaque"'
_ALLOCATION: Final = "status.allocation"
_log = logging.getLogger(__name__)


class NoApiServer(Exception):
    """No way to an API server was found; the message names the places searched and the options."""


@dataclass(frozen=True, slots=True)
class ClusterClaims:
    """The claims at the API server: reads them, writes their status and events about them."""

    api: KubeApi
    events: EventWriter
    manager: str
    node: str
    driver: str

    @classmethod
    def connect(cls, kubeconfig: Path | None, options: Options) -> Self:
        """Find the API server; nothing is sent yet. Raises: NoApiServer."""
        component = f"{options.driver_name}/plugin"
        try:
            api = KubeApi.connect(kubeconfig, user_agent=component, limits=_LIMITS)
        except NotConfigured as error:
            raise NoApiServer(str(error)) from error
        events = EventWriter(api, component, time.time, options.node_name)
        manager = _manager(component, options.node_name)
        return cls(api, events, manager, options.node_name, options.driver_name)

    def close(self) -> None:
        """Write the events that wait."""
        self.events.close()

    def refusal(self) -> str:
        """Return why this server cannot be used, empty where it can. Raises: ApiError."""
        return "" if self.api.serves(RESOURCE_CLAIMS) else refusal(self.api.server_version())

    def warm_up(self) -> None:
        """Open a connection before the first claim comes, and log the version or what is wrong."""
        try:
            _log.info("the API server is %s", self.api.server_version())
        except ApiError as error:
            _log.warning("the API server does not answer yet; claims need it: %s", error)

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        """Return a claim as it is now. Raises: ClaimUnusable, ClaimUnreadable, what ``meanwhile`` raises."""
        try:
            found = self.api.get(RESOURCE_CLAIMS, ref.name, ref.namespace, meanwhile)
        except NotFound as error:
            if error.is_kind_missing:
                raise ClaimUnreadable("read", f"claim {ref}", _NOT_SERVED, _UPGRADE) from error
            raise ClaimUnusable("read", f"claim {ref}", "the API server has no claim of that name") from error
        except Unavailable as error:
            raise ClaimUnreadable("read", f"claim {ref}", _reason(error), _RETRIED) from error
        except ApiError as error:
            raise ClaimUnreadable("read", f"claim {ref}", _reason(error), error.remedy) from error
        return _with_doubled_keys(found)

    def find(self, ref: ClaimRef) -> Mapping[str, Any] | None:
        """Return a claim as it is now, None where the API server has none of that name.

        Raises: ClaimUnreadable, also where the server does not know claims at all.
        """
        try:
            return self.api.get(RESOURCE_CLAIMS, ref.name, ref.namespace).document
        except NotFound as error:
            if not error.is_kind_missing:
                return None
            raise ClaimUnreadable("read", f"claim {ref}", _reason(error), _RETRIED) from error
        except ApiError as error:
            raise ClaimUnreadable("read", f"claim {ref}", _reason(error), _RETRIED) from error

    def members(self, driver: str, pool: str) -> Members:
        """Return which GPUs the devices of a pool of several nodes have. Raises: ClaimUnreadable."""
        subject = f"pool {driver}/{pool}"
        label = f"{POOL_LABEL}={pool.removeprefix(MULTI_NODE)}"
        try:
            found = self.api.list(
                RESOURCE_SLICES, label_selector=label, field_selector=f"spec.driver={driver}"
            )
            return members_of(one.document for one in found.items)
        except Unavailable as error:
            raise ClaimUnreadable("read", subject, _reason(error), _RETRIED) from error
        except ApiError as error:
            raise ClaimUnreadable("read", subject, _reason(error), error.remedy) from error
        except CoreError as error:
            raise ClaimUnreadable(
                "read", subject, str(error), "the administrator creates the pool anew"
            ) from error

    def published(self) -> tuple[Mapping[str, Any], ...]:
        """Return the slices of this node and driver as they are now. Raises: NumbersUnknown."""
        try:
            found = self.api.list(
                RESOURCE_SLICES, field_selector=f"spec.driver={self.driver},spec.nodeName={self.node}"
            )
        except ApiError as error:
            subject = f"slices of node {self.node}"
            raise NumbersUnknown("read the numbers of GPUs", subject, _reason(error)) from error
        return tuple(one.document for one in found.items)

    def labels(self) -> Mapping[str, str] | None:
        """Return the labels of this node, None while the API server does not tell them."""
        try:
            return self.api.get(NODES, self.node).metadata.labels
        except ApiError as error:
            _log.warning("the labels of node %s cannot be read: %s; %s", self.node, _reason(error), _RETRIED)
            return None

    def set_devices(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> None:
        """Make this driver's part of ``status.devices`` what is given. Raises: ReportFailed."""
        try:
            if self._apply(ref, uid, devices):
                return
        except (NotFound, Conflict):
            return
        except Invalid as error:
            if not self._is_allocated(ref, uid, devices):
                return  # another claim has the name; or the claim was released before it was unprepared
            if not any(cause.field == _ALLOCATION for cause in error.causes):
                raise _not_written(ref, error) from error
        except ApiError as error:
            raise _not_written(ref, error) from error
        self._merge(ref, uid, devices)

    def _apply(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> bool:
        """Apply the devices; return whether nothing else of this node is left, from a merge."""
        # The UID keeps the devices out of another claim that has the name by now: the server answers Invalid.
        body = {
            "metadata": {"namespace": ref.namespace, "name": ref.name, "uid": uid},
            "status": {"devices": list(devices)},
        }
        answer = self.api.patch(
            RESOURCE_CLAIMS,
            ref.name,
            body,
            ref.namespace,
            kind=PatchKind.APPLY,
            field_manager=self.manager,
            force=True,
            subresource="status",
        )
        stored = (answer.document.get("status") or {}).get("devices") or ()
        return {_key(one) for one in stored if self._is_ours(one)} <= {_key(one) for one in devices}

    def _merge(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> None:
        """Write the devices into the version of the claim that was read. Raises: ReportFailed.

        Whatever is applied, the API server sorts the keys of opaque parameters and takes another order for
        a change of the allocation. A merge leaves them as they are, and takes the same right as apply.
        """
        try:
            found = self.api.get(RESOURCE_CLAIMS, ref.name, ref.namespace).document
            if found["metadata"]["uid"] != uid:
                return
            all_devices = (found.get("status") or {}).get("devices") or []
            others = [one for one in all_devices if not self._is_ours(one)]
            version = found["metadata"]["resourceVersion"]
            self.api.patch(
                RESOURCE_CLAIMS,
                ref.name,
                {"metadata": {"resourceVersion": version}, "status": {"devices": [*others, *devices]}},
                ref.namespace,
                field_manager=self.manager,
                subresource="status",
            )
        except NotFound:
            return
        except ApiError as error:
            raise _not_written(ref, error) from error

    def _is_ours(self, device: Mapping[str, Any]) -> bool:
        """Whether an entry is of a device of this node: claims may have devices of several nodes."""
        return (device.get("driver"), device.get("pool")) == (self.driver, self.node)

    def _is_allocated(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the claim is there and still has these devices; true if the API server does not say."""
        try:
            found = self.api.get(RESOURCE_CLAIMS, ref.name, ref.namespace)
        except NotFound:
            return False
        except ApiError:
            return True
        if found.metadata.uid != uid:
            return False
        status = found.document.get("status") or {}
        results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
        names = {(one.get("driver"), one.get("pool"), one.get("device")) for one in results}
        return names >= {(one["driver"], one["pool"], one["device"]) for one in devices}

    def warn(self, ref: ClaimRef, uid: ClaimUid, reason: str, message: str) -> None:
        """Queue an event about a claim."""
        claim = Regarding(
            api_version="resource.k8s.io/v1",
            kind="ResourceClaim",
            name=ref.name,
            namespace=ref.namespace,
            uid=uid,
        )
        self.events.emit(claim, "Warning", reason, message, "Prepare")

    def warn_of_node(self, reason: str, message: str) -> None:
        """Queue an event about this node."""
        # Events about a node have its name as UID, as those of the kubelet: kubectl describe searches for it.
        node = Regarding(api_version="v1", kind="Node", name=self.node, uid=self.node)
        self.events.emit(node, "Warning", reason, message, "Prepare")


def _with_doubled_keys(claim: Object) -> Mapping[str, Any]:
    """Return a claim whose parameters show keys that are there twice.

    API servers keep opaque parameters as they were sent, and ``document`` has the last of equal keys only.
    """
    if _PARAMETERS not in claim.text:
        return claim.document
    try:
        return {**claim.document, **parse_json(claim.text)}
    except (ValueError, RecursionError):  # read before by another parser: what that one read is used
        return claim.document


def _manager(component: str, node: str) -> str:
    """Return the field manager of one node, so that a late write of one node removes nothing of another's."""
    name = f"{component}/{node}"
    if len(name) <= _MANAGER_SIZE:
        return name
    return f"{component}/{hashlib.sha256(node.encode()).hexdigest()[:32]}"


def _key(device: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple(device.get(key) for key in ("driver", "pool", "device", "shareID"))


def _not_written(ref: ClaimRef, error: ApiError) -> ReportFailed:
    """Return the error for a status that was not written; a claim that changed meanwhile is read again."""
    retry = isinstance(error, Unavailable | Conflict)
    subject = f"the devices of claim {ref} in its status"
    return ReportFailed("write", subject, _reason(error), error.remedy, retry=retry)


def _reason(error: ApiError) -> str:
    """Return why a call failed, without what the plugin's own message already says."""
    answer = f" ({error.status} {error.reason})" if error.status else ""
    return f"{error.message or type(error).__name__}{answer}"


def metrics_review(kubeconfig: Path | None) -> Review:
    """Return what asks the API server whether a caller may read the metrics. Raises: NoApiServer.

    It has a client of its own, with a small pace: strangers who guess tokens slow nothing else.
    """
    try:
        api = KubeApi.connect(kubeconfig, user_agent="tangram-plugin/metrics", limits=_REVIEWS)
    except NotConfigured as error:
        raise NoApiServer(str(error)) from error

    return reviewing(partial(is_allowed, api), KubeApiError)
