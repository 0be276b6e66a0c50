"""What a log line about a claim has as fields."""

from __future__ import annotations

from typing import Any

from daemon.log_fields import fields
from plugin.claim.record import Record


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
