"""Errors and log lines of one claim: each says which claim it was for."""

from __future__ import annotations

from typing import Any

from agent.hardware.errors import HardwareError
from daemon.log_fields import LogAbout, fields
from plugin.base.errors import HardwareFailed, PluginError
from plugin.claim.record import Record
from scheduler_core.model.claim import ClaimRef, ClaimUid


class Attributed(LogAbout):
    """The ``with`` block of ``attributed``. It is a class, since a generator takes twice as long."""

    __slots__ = ("_attempted", "_ref", "_uid")

    def __init__(self, attempted: str, ref: ClaimRef, uid: ClaimUid | None) -> None:
        named = {"namespace": ref.namespace, "claim": ref.name}
        super().__init__({**named, "uid": uid} if uid else named)
        self._attempted, self._ref, self._uid = attempted, ref, uid

    def __exit__(self, *raised: object) -> None:
        super().__exit__()
        error = raised[1] if raised else None
        if isinstance(error, PluginError):
            error.claim_uid = self._uid
        elif isinstance(error, HardwareError):
            failed = HardwareFailed(self._attempted, f"claim {self._ref}", str(error), retry=error.retry)
            failed.claim_uid = self._uid
            raise failed from error


def attributed(attempted: str, ref: ClaimRef, uid: ClaimUid | None) -> Attributed:
    """Return a ``with`` block that names the claim in its log lines and in the errors it raises.

    A HardwareError becomes a HardwareFailed, which also says what was attempted.
    """
    return Attributed(attempted, ref, uid)


def logged(record: Record) -> dict[str, Any]:
    """Return the ``extra`` of a log call about a claim and all its devices."""
    requests = dict.fromkeys(name for device in record.devices for name in device.requests)
    return fields(
        namespace=record.ref.namespace,
        claim=record.ref.name,
        uid=record.uid,
        request=",".join(requests),
        device=devices_text(record),
    )


def devices_text(record: Record) -> str:
    """Return the names of a claim's devices."""
    return ",".join(device.device for device in record.devices)
