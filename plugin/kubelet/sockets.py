"""PURE: the names of a plugin's sockets, so that two versions of it can serve side by side.

Takes a folder, a driver and perhaps the UID of the plugin's pod; returns a path. With a UID every instance
has its own sockets; the kubelet calls the instance that registered last. Source:
k8s.io/dynamic-resource-allocation, kubeletplugin, rolling updates; unix(7), sun_path.
"""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import Final

PATH_BYTES: Final = 107
"""The longest path of a unix socket: 108 bytes with the NUL. Source: unix(7), sun_path."""

_DRA: Final = "dra"
_SUFFIX: Final = ".sock"


def dra(folder: Path, pod_uid: str | None) -> Path:
    """Return the path of the socket that the kubelet calls."""
    return folder / (f"{_DRA}{_SUFFIX}" if pod_uid is None else f"{_DRA}-{pod_uid}{_SUFFIX}")


def registration(folder: Path, driver: str, pod_uid: str | None) -> Path:
    """Return the path of the socket by which the kubelet finds a plugin: the first that is short enough."""
    if pod_uid is None:
        return folder / f"{driver}-reg{_SUFFIX}"
    stems = (
        f"{driver}-{pod_uid}",
        f"{driver}-{_digest(pod_uid, 8)}",
        f"{_DRA}-{_digest(chr(0).join((driver, pod_uid)), 16)}",
    )
    paths = [folder / f"{stem}-reg{_SUFFIX}" for stem in stems]
    return next((path for path in paths if len(os.fsencode(path)) <= PATH_BYTES), paths[-1])


def instance(dra_socket: str) -> str | None:
    """Return the UID of the pod whose DRA socket has this name.

    Shape: empty for the socket of a plugin without a UID, None where the name is no DRA socket's.
    """
    if not dra_socket.startswith(_DRA) or not dra_socket.endswith(_SUFFIX):
        return None
    middle = dra_socket[len(_DRA) : -len(_SUFFIX)]
    if not middle:
        return ""
    return middle[1:] if middle.startswith("-") and len(middle) > 1 else None


def _digest(text: str, size: int) -> str:
    """Return the first ``size`` bytes of a digest as a file name."""
    digest = hashlib.sha256(text.encode()).digest()[:size]
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
