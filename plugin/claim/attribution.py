"""Errors and log lines of one claim: each says which claim it was for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agent.hardware.errors import HardwareError
from daemon.log_fields import log_about
from plugin.base.errors import HardwareFailed, PluginError
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
