"""Turns broken connections into errors.

Takes failures of urllib3, http.client and sockets; returns errors. Only this module distinguishes them.
"""

from __future__ import annotations

import ssl
from http.client import HTTPException, IncompleteRead
from typing import Final

from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, SSLError

from kube_api.calls import Call
from kube_api.deadline import Deadline
from kube_api.errors import Unavailable, Untrusted

BROKEN: Final = (HTTPError, HTTPException, OSError, ValueError)
"""What opening, writing and reading of a connection may raise."""


def lost(call: Call, problem: Exception, deadline: Deadline, *, is_unsent: bool = False) -> Unavailable:
    """Return the error for a call that got no answer, or not a whole one."""
    cause = problem.args[0] if isinstance(problem, SSLError) and problem.args else None
    if isinstance(problem, ssl.SSLCertVerificationError) or isinstance(cause, FileNotFoundError):
        text = f"TLS: {cause or problem}"
        return Untrusted(call.attempted, call.resource, is_unsent=True, **call.about(message=text))
    return unavailable(call, _told(problem, deadline), is_unsent=is_unsent)


def unavailable(call: Call, message: str, *, is_unsent: bool = False) -> Unavailable:
    """Return the error for a call that got no answer, for a reason in words."""
    return Unavailable(call.attempted, call.resource, is_unsent=is_unsent, **call.about(message=message))


def _told(problem: Exception, deadline: Deadline) -> str:
    if isinstance(problem, TimeoutError):
        return "the answer took too long" if deadline.is_over else "the server sent nothing for too long"
    if isinstance(problem, NewConnectionError | ConnectTimeoutError):
        return _no_connection(problem)
    if isinstance(problem, IncompleteRead):
        return "the connection broke before the answer was complete"
    return f"the connection broke: {str(problem) or type(problem).__name__}"


def _no_connection(problem: NewConnectionError | ConnectTimeoutError) -> str:
    cause = problem.__cause__
    there = problem.conn if isinstance(problem, NewConnectionError) else problem.args[0]
    words = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause or problem)
    proxy = "the proxy " if there.proxy is not None else ""
    return f"no connection to {proxy}{there.host}:{there.port}: {words}"
