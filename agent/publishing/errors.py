"""What an API server may answer instead of doing what it was asked, in the publisher's words.

One class per thing that the publisher does differently. Adapters translate into these at the border; the
message says what was attempted, on which object, why it failed and who acts.
"""

from __future__ import annotations


class ServerError(Exception):
    """The base of everything that a door to the API server raises.

    Units: ``retry_after_s`` seconds that the server asked to wait, None where it did not say.
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class NotThere(ServerError):
    """The object, or its whole kind, does not exist."""


class Outdated(ServerError):
    """What we know of the object is old: it has changed, or exists already."""


class NotAllowed(ServerError):
    """The administrator must grant the right."""


class Refused(ServerError):
    """The server does not take the content; the message says which fields."""


class Unreachable(ServerError):
    """The server did not answer, or asked us to come back later."""


class NoNode(ServerError):
    """The Node object that would own the slices is not there."""
