"""Turns broken connections into errors.

Takes failures of urllib3; returns errors. Only this module distinguishes them.
"""

from __future__ import annotations

import ssl

from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ReadTimeoutError, SSLError

from kube_api.calls import Call
from kube_api.deadline import Deadline
from kube_api.errors import Unavailable, Untrusted


def lost(call: Call, problem: HTTPError, deadline: Deadline) -> Unavailable:
    """Return the error for a call that got no answer, or not a whole one."""
    cause = problem.args[0] if isinstance(problem, SSLError) and problem.args else None
    if isinstance(cause, ssl.SSLCertVerificationError | FileNotFoundError):
        return Untrusted(call.attempted, call.resource, is_unsent=True, **call.about(message=f"TLS: {cause}"))
    if isinstance(problem, ReadTimeoutError):
        silent = "the server sent nothing for too long"
        return unavailable(call, "the answer took too long" if deadline.is_over else silent)
    if isinstance(problem, NewConnectionError):
        return unavailable(call, _no_connection(problem), is_unsent=True)
    return unavailable(call, str(problem), is_unsent=isinstance(problem, ConnectTimeoutError))


def unavailable(call: Call, message: str, *, is_unsent: bool = False) -> Unavailable:
    """Return the error for a call that got no answer, for a reason in words."""
    return Unavailable(call.attempted, call.resource, is_unsent=is_unsent, **call.about(message=message))


def _no_connection(problem: NewConnectionError) -> str:
    cause = problem.__cause__
    words = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(problem)
    return f"no connection to {problem.conn.host}:{problem.conn.port}: {words}"
