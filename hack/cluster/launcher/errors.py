"""What goes wrong around the cluster: one sentence that says what was attempted, why it failed, who acts."""

from __future__ import annotations


class LauncherError(Exception):
    """The cluster cannot be built, started or reached; the text is the whole message."""


class MissingPrograms(LauncherError):
    """The machine lacks programs that come from its distribution."""


class PartFailed(LauncherError):
    """A part of the cluster did not become ready or ended by itself."""
