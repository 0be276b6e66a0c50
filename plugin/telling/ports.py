"""What the plugin needs of the cluster: claims to read, and somebody to tell what became of them.

Adapters (a folder of files, an API server) implement these; ``plugin.__main__`` names them. Objects are
plain documents as the API has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from plugin.base.errors import PluginError
from scheduler_core.model.claim import AllocatedDevice, ClaimRef, ClaimUid


class ClaimReader(Protocol):
    """Reads ResourceClaims."""

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        """Return a claim as it is now.

        Shape: ``meanwhile`` is called once before this returns, as a rule while the answer is awaited.
        Raises: ClaimUnusable where there is none; ClaimUnreadable where nobody can tell; what ``meanwhile``
                raises.
        """
        ...


class ClaimWriter(Protocol):
    """Writes what users read of prepared devices."""

    def set_devices(self, ref: ClaimRef, uid: ClaimUid, devices: Sequence[Mapping[str, Any]]) -> None:
        """Make ``devices`` all that ``status.devices`` of a claim says in this driver's name.

        A claim that is gone, or replaced by one of the same name, is left alone. Raises: ReportFailed.
        """
        ...


class ClaimEvents(Protocol):
    """Tells users of failures."""

    def warn(self, ref: ClaimRef, uid: ClaimUid, reason: str, message: str) -> None:
        """Write an event on a claim, some time. Returns at once and never fails."""
        ...


class Witness(Protocol):
    """Is told what became of a claim; returns at once and never fails."""

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        """Take note that a claim was prepared or undone."""
        ...

    def failed(
        self,
        uid: ClaimUid,
        ref: ClaimRef,
        attempted: str,
        error: PluginError,
        devices: Sequence[AllocatedDevice] = (),
    ) -> None:
        """Take note that preparing or unpreparing a claim failed.

        Shape: ``devices`` are those of ours that are not prepared now, none where nobody knows them.
        """
        ...


class NoWitness:
    """Nobody to tell: claims come from files."""

    def changed(self, uid: ClaimUid, ref: ClaimRef) -> None:
        """Take no note."""

    def failed(
        self,
        uid: ClaimUid,
        ref: ClaimRef,
        attempted: str,
        error: PluginError,
        devices: Sequence[AllocatedDevice] = (),
    ) -> None:
        """Take no note."""
