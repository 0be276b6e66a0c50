"""What can go wrong between a program and an API server, by who has to act.

One class per thing that somebody must do differently. Every message says what was attempted, on which
object, why it failed and who acts. HTTP answers are told apart in ``kube_api.answers`` only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

from kube_api.resources import Resource


class KubeApiError(Exception):
    """The base of everything this package raises about an API server."""


class NotConfigured(KubeApiError):
    """No way to an API server was found, or the one that was found cannot be used."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason out of several: ``field`` is a path like ``spec.devices[0].name``, or empty."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class Failure(TypedDict, total=False):
    """What is known of why a call failed."""

    status: int
    reason: str
    message: str
    causes: Sequence[Cause]


class About(Failure, total=False):
    """What is known of a failed call besides the verb and the kind."""

    name: str
    namespace: str


class ApiError(KubeApiError):
    """A call that failed.

    Shape: ``attempted`` is a verb; ``resource`` is None for a path that is no kind, then ``name`` is it;
           ``status`` is 0 where no answer came.
    Units: ``retry_after_s`` is what the server asked for, in seconds; None where it asked for nothing.
    """

    retry_after_s: float | None = None
    remedy = "the server and this program do not understand each other: compare their versions"

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
        """Return the object in words: kind, namespace and name as far as they are known."""
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
        """Tell whether the server does not know the kind at all: a CRD or an API version is not there."""
        return self.reason != "NotFound"


class Conflict(ApiError):
    """Someone else changed the object since it was read, or another object has its UID."""

    remedy = "read it again and repeat the change on what is there now"


class AlreadyExists(ApiError):
    """The name is taken."""

    remedy = "read the existing object, or choose another name"


class Expired(ApiError):
    """The server does not keep so old a version any more."""

    remedy = "list again"


class Forbidden(ApiError):
    """The server does not accept the credentials, or does not let them do this."""

    remedy = "an administrator of the cluster grants it (RBAC, admission policy) or gives valid credentials"


class Invalid(ApiError):
    """The server understood the request and refuses its content; ``causes`` has it field by field."""

    remedy = "correct what was sent"


class Unavailable(ApiError):
    """The server is not there, overloaded or broken: the same call may work later.

    Shape: ``is_unsent`` says that the request certainly had no effect.
    """

    remedy = "it may be tried again; if it stays, look at the API server and the network to it"

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


class Untrusted(Unavailable):
    """The server's certificate is not the one that the configuration names; asking again changes nothing."""

    remedy = "correct the certificate authority or the server's name in the configuration"
