"""The failures of API calls that the publisher distinguishes.

There is one class for each different reaction of the publisher. ``agent.api`` translates into these. The
message says what was attempted, on which object, why it failed and who acts.
"""

from __future__ import annotations

from collections.abc import Sequence

from scheduler_core.publishing.documents import Document, name_of


class ServerError(Exception):
    """The base of every failure of a call to the API server.

    Units: ``retry_after_s`` seconds that the server asked to wait, None if it did not.
    """

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class NotThere(ServerError):
    """The object, or its whole kind, does not exist."""


class Outdated(ServerError):
    """Our copy of the object is out of date: it has changed, or it exists already."""


class NameTaken(ServerError):
    """A slice of somebody else, ``taken``, has the name."""

    def __init__(self, kind: str, taken: Document) -> None:
        self.name = name_of(taken)
        spec = taken["spec"]
        owner = f"driver {spec.get('driver')} of node {spec.get('nodeName') or spec['pool']['name']}"
        super().__init__(f"cannot create {kind} {self.name}: {owner} has one of that name")


class NotAllowed(ServerError):
    """We have no permission; the administrator must grant it."""


class Refused(ServerError):
    """The server rejects the content; the message says which fields.

    Shape: ``fields`` are the paths of these fields as far as the server names them,
           ``spec.devices[3].attributes[...]``.
    """

    def __init__(self, message: str, fields: Sequence[str] = ()) -> None:
        self.fields = tuple(fields)
        super().__init__(message)


class Unreachable(ServerError):
    """The server did not answer, or asked us to retry later."""


class NoNode(ServerError):
    """The Node object that owns the slices does not exist."""
