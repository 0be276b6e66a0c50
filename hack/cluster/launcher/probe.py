"""Look whether a part answers: small HTTP requests inside the cluster's own network.

In go URLs; out come truth values or JSON documents. A part that does not answer yet is an expected outcome.
"""

from __future__ import annotations

import http.client
import json
import ssl
import urllib.request
from typing import Any

from launcher.settings import TOKENS

_SECONDS = 5.0


def answers(url: str, text: str) -> bool:
    """Tell whether a GET of this URL answers 200 with this text in it; certificates are not looked at."""
    try:
        with urllib.request.urlopen(url, timeout=_SECONDS, context=_context(url)) as response:
            return text in response.read().decode()
    except (OSError, http.client.HTTPException):
        return False


def api_is_ready() -> bool:
    """Tell whether the API server says that it is ready."""
    return _text("/readyz") == "ok"


def get(path: str) -> Any:
    """Return the document at this path, None where there is none or the server does not answer."""
    text = _text(path)
    return json.loads(text) if text else None


def _text(path: str) -> str:
    url = f"https://127.0.0.1{path}"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {TOKENS['admin']}"})
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS, context=_context(url)) as response:
            answer: str = response.read().decode()
            return answer
    except (OSError, http.client.HTTPException):
        return ""


def _context(url: str) -> ssl.SSLContext | None:
    return ssl._create_unverified_context() if url.startswith("https") else None


def node_is_ready(name: str) -> bool:
    """Tell whether the node's Ready condition is true."""
    node = get(f"/api/v1/nodes/{name}") or {}
    conditions = node.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
