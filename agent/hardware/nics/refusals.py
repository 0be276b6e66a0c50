"""Translates the kernel's error numbers into the errors of the hardware, once for sysfs and rtnetlink.

One number means different things to different files. So a caller gives the meanings that are special to what
it attempts; ``GENERAL`` has the rest.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple

from agent.hardware import errors
from agent.hardware.errors import HardwareError


class Meaning(NamedTuple):
    """What an error number means. Shape: ``reason`` and ``remedy`` None for the general texts."""

    kind: type[HardwareError]
    reason: str | None = None
    remedy: str | None = None


_ROOT: Final = "run as root with CAP_NET_ADMIN and a writable /sys"

GENERAL: Final[Mapping[int, Meaning]] = {
    errno.EBUSY: Meaning(errors.InUse),
    errno.EAGAIN: Meaning(errors.InUse),
    errno.ENOSPC: Meaning(errors.InsufficientResources),
    errno.ENOMEM: Meaning(errors.InsufficientResources),
    errno.ERANGE: Meaning(errors.InvalidArgument),
    errno.EINVAL: Meaning(errors.InvalidArgument),
    errno.EADDRNOTAVAIL: Meaning(errors.InvalidArgument),
    errno.ENETUNREACH: Meaning(errors.InvalidArgument, "the gateway is not on a network of this interface"),
    errno.ENOENT: Meaning(errors.NotFound),
    errno.ENODEV: Meaning(errors.NotFound),
    errno.ENXIO: Meaning(errors.NotFound),
    errno.EOPNOTSUPP: Meaning(errors.NotSupported),
    errno.ENOSYS: Meaning(errors.NotSupported),
    errno.EPROTONOSUPPORT: Meaning(errors.NotSupported),
    errno.EACCES: Meaning(errors.NoPermission, remedy=_ROOT),
    errno.EPERM: Meaning(errors.NoPermission, remedy=_ROOT),
    errno.EROFS: Meaning(errors.NoPermission, remedy=_ROOT),
    errno.EEXIST: Meaning(errors.AlreadyTaken),
    errno.EADDRINUSE: Meaning(errors.AlreadyTaken),
    errno.ETIMEDOUT: Meaning(errors.TimedOut),
}
_FAULT: Final = Meaning(errors.HardwareFault)


def refused(
    attempted: str, subject: str, error: OSError, special: Mapping[int, Meaning] | None = None
) -> HardwareError:
    """Return the error that an error number means."""
    number = error.errno
    known = {**GENERAL, **(special or {})}
    meaning = known.get(number, _FAULT) if number is not None else _FAULT
    said = f"the kernel says {errno.errorcode.get(number or 0, str(number))} ({os.strerror(number or 0)})"
    reason = f"{meaning.reason}; {said}" if meaning.reason else said
    return meaning.kind(attempted, subject, reason, meaning.remedy, number)


@contextmanager
def translated(attempted: str, subject: str, special: Mapping[int, Meaning] | None = None) -> Iterator[None]:
    """Translate every ``OSError`` of the block."""
    try:
        yield
    except OSError as error:
        raise refused(attempted, subject, error, special) from error
