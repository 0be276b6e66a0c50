"""Errors and log lines of one claim: each says which claim it was for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agent.hardware.errors import HardwareError
from daemon.log_fields import fields, log_about
from plugin.base.errors import HardwareFailed, PluginError
from plugin.claim.record import Record
from scheduler_core.model.claim import ClaimRef, ClaimUid


@contextmanager
def attributed(attempted: str, ref: ClaimRef, uid: ClaimUid | None) -> Iterator[None]:
    """Add the claim to every error and line of a block, and to the hardware's errors what was attempted."""
    try:
        with log_about(namespace=ref.namespace, claim=ref.name, uid=uid or ""):
            yield
    except PluginError as error:
        error.claim_uid = uid
        raise
    except HardwareError as error:
        failed = HardwareFailed(attempted, f"claim {ref}", str(error), retry=error.retry)
        failed.claim_uid = uid
        raise failed from error


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
