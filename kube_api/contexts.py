"""The namespace of commands that name none, from the same places as for other Kubernetes programs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kube_api.api import SERVICE_ACCOUNT

_DEFAULT: Final = "default"


def usual_namespace(
    kubeconfig: Path | None = None,
    context: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    service_account: Path = SERVICE_ACCOUNT,
) -> str:
    """Return the namespace of a kubeconfig's context, or of the pod that this program runs in.

    Shape:  ``default`` where neither names one; ``context`` None stands for the current one.
    Raises: NotConfigured, as ``KubeApi.connect``.
    """
    from kube_api.configuration import Kubeconfig, find  # noqa: PLC0415 - loaded by who connects, see api

    origin = find(kubeconfig, context, environ, service_account)
    if isinstance(origin, Kubeconfig):
        return _of_context(origin.active_context()) or _DEFAULT
    return environ.get("POD_NAMESPACE") or _mounted(service_account / "namespace") or _DEFAULT


def _of_context(context: Mapping[str, Any]) -> str:
    return str((context.get("context") or {}).get("namespace") or "")


def _mounted(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
