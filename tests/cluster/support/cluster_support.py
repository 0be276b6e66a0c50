"""What tests in a cluster share: waiting with a bound, and pods that come and go quickly.

In go plain documents and questions; out come documents and answers. Polling lives in ``eventually`` alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from kube_api import PODS, KubeApi

Document = dict[str, Any]
T = TypeVar("T")

_PAUSE_S = 0.05


class NeverCameTrue(AssertionError):
    """What a test waited for did not come; the text says what was there instead."""


def eventually(ask: Callable[[], T], what: str, timeout_s: float = 30.0) -> T:
    """Ask until the answer is true and return it.

    An AssertionError of ``ask`` counts as no, so that a block of asserts can be waited for.
    Raises: NeverCameTrue with the last answer.
    """
    end = time.monotonic() + timeout_s
    while True:
        last: object
        try:
            last = answer = ask()
            if answer:
                return answer
        except AssertionError as error:
            last = error
        if time.monotonic() >= end:
            raise NeverCameTrue(f"not in {timeout_s:.0f} s: {what}; last: {last}")
        time.sleep(_PAUSE_S)


def pod(
    name: str,
    *,
    command: Sequence[str] = ("sleep", "100000"),
    claims: Mapping[str, str] | None = None,
    templates: Mapping[str, str] | None = None,
    image: str = "localhost/busybox:1",
    **spec: Any,
) -> Document:
    """Return a pod with one container.

    Shape: ``claims`` and ``templates`` map the pod's name for a claim to a ResourceClaim or its template; the
           container uses all of them. Anything else of the pod's spec comes by its own name.
    """
    sources = [{"name": key, "resourceClaimName": value} for key, value in (claims or {}).items()]
    sources += [{"name": key, "resourceClaimTemplateName": value} for key, value in (templates or {}).items()]
    container = {
        "name": "main",
        "image": image,
        "command": list(command),
        "resources": {"claims": [{"name": source["name"]} for source in sources]},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "hostNetwork": True,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            "resourceClaims": sources,
            **spec,
        },
    }


def phase(api: KubeApi, name: str, namespace: str) -> str:
    """Return the pod's phase now."""
    status: Document = api.get(PODS, name, namespace).document.get("status", {})
    return str(status.get("phase", ""))


def running(api: KubeApi, name: str, namespace: str, timeout_s: float = 60.0) -> Document:
    """Wait until every container of the pod runs, and return the pod."""

    def look() -> Document | None:
        document = api.get(PODS, name, namespace).document
        states = document.get("status", {}).get("containerStatuses", [])
        return dict(document) if states and all("running" in one["state"] for one in states) else None

    found = eventually(look, f"pod {namespace}/{name} runs", timeout_s)
    assert found is not None
    return found
