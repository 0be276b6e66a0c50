"""PURE: the driver's versions as attributes, where they are versions at all."""

from __future__ import annotations

from collections.abc import Iterator

from agent.hardware.types import DriverVersions
from scheduler_core.base.version import Version

_SHOWN = 40


def version_of(text: str) -> Version | None:
    """Return a version, None for a text that is none."""
    try:
        return Version.parse(text)
    except ValueError:
        return None


def told_of_versions(versions: DriverVersions) -> Iterator[str]:
    """Yield a sentence for each version that is not published because it is none."""
    for key, text in (("driverVersion", versions.driver), ("cudaDriverVersion", versions.cuda)):
        if version_of(text) is None:
            yield f"GPUs go without {key}: {ascii(text)[:_SHOWN]} is no version"
