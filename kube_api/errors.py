"""What can go wrong between a program and an API server.

There is one class for each different remedy. Every message says what was attempted, on
which object, why it failed and who acts. ``kube_api.answers`` turns HTTP answers into these classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from kube_api.resources import Resource


class KubeApiError(Exception):
    """The base of all errors of this package."""


class NotConfigured(KubeApiError):
    """No configuration for an API server was found, or the one that was found cannot be used."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason for a refusal. Shape: ``field`` is a path like ``spec.devices[0].name``, or empty."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class Failure(TypedDict, total=False):
    """What is known about the reason of a failure."""

    status: int
    reason: str
    message: str
    causes: Sequence[Cause]


class About(Failure, total=False):
    """What is known about a failed call besides its verb and kind."""

    name: str
    namespace: str


class ApiError(KubeApiError):
    """A call that failed.

    Shape: ``attempted`` is a verb; ``resource`` is None for a path that belongs to no kind, then ``name`` is
           that path; ``status`` is 0 where no answer came.
    Units: ``retry_after_s`` is the wait in seconds that the server asked for, None where it asked for none.
    """

    retry_after_s: float | None = None
    remedy = "compare the versions of the API server and of this program"

    def __init__(self, attempted: str, resource: Resource | None, **about: Unpack[About]) -> None:
        self.attempted = attempted
        self.resource = resource
        self.name = about.get("name", "")
        self.namespace = about.get("namespace", "")
        self.status = about.get("status", 0)
        self.reason = about.get("reason", "")
        self.message = about.get("message", "")
        self.causes = tuple(about.get("causes", ()))
        super().__init__(f"cannot {attempted} {self.subject}: {self._why()}; {self.remedy}")

    @property
    def subject(self) -> str:
        """Return kind, namespace and name of the object, as far as they are known."""
        place = (
            f"{self.namespace}/{self.name}" if self.namespace and self.name else self.name or self.namespace
        )
        kind = self.resource.kind if self.resource else ""
        return " ".join(part for part in (kind, place) if part)

    def _why(self) -> str:
        said = "; ".join(str(cause) for cause in self.causes) or self.message or "no reason given"
        code = " ".join(part for part in (str(self.status or ""), self.reason) if part)
        line = " ".join(said.split())
        return f"{line} ({code})" if code else line


class NotFound(ApiError):
    """The object does not exist, or the server does not serve its kind."""

    remedy = "create it, or name another one"

    @property
    def is_kind_missing(self) -> bool:
        """Whether the server does not know the kind: a CRD or an API version is missing."""
        return self.reason != "NotFound"


class Conflict(ApiError):
    """Somebody else changed the object since it was read, or another object took its name."""

    remedy = "read it again and repeat the change on what is there now"


class AlreadyExists(ApiError):
    """The name is taken."""

    remedy = "read the existing object, or choose another name"


class Expired(ApiError):
    """The server no longer keeps a version as old as the one asked for."""

    remedy = "list again"


class Forbidden(ApiError):
    """The server does not accept the credentials, or does not allow them to do this."""

    remedy = (
        "an administrator of the cluster must allow it (RBAC, admission policy) or give valid credentials"
    )


class Invalid(ApiError):
    """The server refuses the content of the request. Shape: ``causes`` has one entry for each wrong field."""

    remedy = "correct what was sent"


class BadReply(ApiError):
    """The server's answer is not as the API promises: unreadable, too large, or of another kind."""

    remedy = "check that the address is an API server and that no proxy changes its answers"


class Unavailable(ApiError):
    """The server does not answer, is overloaded or fails: the same call may work later.

    Shape: ``is_unsent`` says that the request certainly had no effect.
    """

    remedy = "try again; if it keeps failing, check the API server and the network to it"

    def __init__(
        self,
        attempted: str,
        resource: Resource | None,
        *,
        retry_after_s: float | None = None,
        is_unsent: bool = False,
        **about: Unpack[About],
    ) -> None:
        self.retry_after_s = retry_after_s
        self.is_unsent = is_unsent
        super().__init__(attempted, resource, **about)


class Withheld(ApiError):
    """The request was not sent, or not to its end: its guard did not allow it any more.

    An earlier attempt of the same call may have had an effect.
    """

    remedy = "whoever may write now does it"


class Untrusted(Unavailable):
    """The server's certificate does not fit the configuration; trying again does not help."""

    remedy = "correct the certificate authority or the server's name in the configuration"
