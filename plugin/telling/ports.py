"""The ports through which the plugin reports to users about claims.

The API server implements ``ClaimWriter`` and ``ClaimEvents``. ``ClaimObserver`` stands between the kubelet's
calls and both of them, so that no call waits for the API server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from plugin.base.errors import PluginError
from plugin.claim.quarantine.quarantined import Quarantined
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, ClaimUid


class ClaimWriter(Protocol):
    """Writes the status of claims."""

    def set_devices(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> None:
        """Make ``devices`` the whole of what this driver says in ``status.devices`` of a claim.

        A claim that is gone, or replaced by one of the same name, is left alone. Raises: ReportFailed.
        """
        ...


class ClaimEvents(Protocol):
    """Writes events on claims."""

    def warn(self, ref: ClaimRef, uid: ClaimUid, reason: str, message: str) -> None:
        """Write an event on a claim later. Returns at once and never fails."""
        ...

    def warn_of_node(self, reason: str, message: str) -> None:
        """Write an event on this node later. Returns at once and never fails."""
        ...


class ClaimObserver(Protocol):
    """Receives what happened to claims. Its methods return at once and never fail."""

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        """Take note that a claim was prepared or unprepared, or that a pod got something of it."""
        ...

    def failed(
        self,
        uid: ClaimUid,
        ref: ClaimRef,
        attempted: str,
        error: PluginError,
        devices: Sequence[AllocatedDevice] = (),
    ) -> None:
        """Take note that preparing or unpreparing a claim failed, or bringing a device of it into a pod.

        Shape: ``devices`` are this driver's devices that are not prepared now; empty where they are unknown.
        """
        ...

    def kept(self, found: Quarantined) -> None:
        """Take note that the record of a claim cannot be believed, so that the claim stays as it is."""
        ...

    def missing(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Take note that devices of a prepared claim are not there any more."""
        ...

    def in_use(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Take note that a claim is over and stays, because programs use its GPUs."""
        ...


class NoObserver:
    """The observer where claims come from files: there is no status to write."""

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        """Do nothing."""

    def failed(
        self,
        uid: ClaimUid,
        ref: ClaimRef,
        attempted: str,
        error: PluginError,
        devices: Sequence[AllocatedDevice] = (),
    ) -> None:
        """Do nothing."""

    def kept(self, found: Quarantined) -> None:
        """Do nothing: it stands in the log."""

    def missing(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Do nothing: it stands in the log."""

    def in_use(self, uid: ClaimUid, ref: ClaimRef, why: str) -> None:
        """Do nothing: it stands in the log."""
