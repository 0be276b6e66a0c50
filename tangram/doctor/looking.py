"""Looks twice, and mends one finding. Whoever is looked at is a port: a node, or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from tangram.doctor.finding import Finding, lasting
from tangram.errors import bad_argument

PAUSE_S: Final = 3.0
"""Between the two looks: what the cluster or the plugin does by itself is done by then. Units: seconds."""


class Patient(Protocol):
    """What is looked at."""

    @property
    def name(self) -> str:
        """Return how a person calls it."""
        ...

    @property
    def scope(self) -> Mapping[str, Any]:
        """Return what was looked at, for scripts."""
        ...

    def look(self) -> tuple[Finding, ...]:
        """Look once."""
        ...

    def mend(self, finding: Finding) -> str:
        """Do the fix of a finding, if it is still due, and say what was done."""
        ...


def findings_of(patient: Patient, sleep: Callable[[float], None]) -> tuple[Finding, ...]:
    """Return what two looks found, or nothing where the first finds nothing."""
    first = patient.look()
    if not first:
        return ()
    sleep(PAUSE_S)
    return lasting(first, patient.look())


def to_mend(findings: tuple[Finding, ...], wanted: str) -> Finding:
    """Return the one finding that ``--fix`` names, if it can be fixed. Raises: BadInput."""
    found = next((one for one in findings if one.id == wanted), None)
    if found is None:
        raise bad_argument("--fix", wanted, "no finding has this id now; nothing was changed")
    if found.fix is None:
        raise bad_argument("--fix", wanted, f"this finding is not fixed by a command: {found.kind.todo}")
    return found
