"""PURE: a finding as a value, and what ``--fix`` would do about it."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.base.quick_dataclass import dataclass
from tangram.doctor.kinds import Kind


@dataclass(frozen=True, slots=True)
class Release:
    """End the quarantine of a claim."""

    uid: str

    def __str__(self) -> str:
        return f"release claim {self.uid}"


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An object as it was when it was looked at. Shape: ``namespace`` empty where its kind has none."""

    kind: str
    namespace: str
    name: str
    uid: str
    version: str

    @property
    def text(self) -> str:
        """Return how messages name it."""
        return f"{self.kind} {f'{self.namespace}/' if self.namespace else ''}{self.name}"


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete objects."""

    objects: tuple[ObjectRef, ...]

    def __str__(self) -> str:
        return f"delete {', '.join(one.text for one in self.objects)}"


@dataclass(frozen=True, slots=True)
class RemoveFinalizer:
    """Remove one finalizer of an object. Shape: ``rest`` are those that it keeps."""

    of: ObjectRef
    finalizer: str
    rest: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"remove finalizer {self.finalizer} of {self.of.text}"


Fix = Release | Delete | RemoveFinalizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is stuck.

    Shape: ``object`` the second part of its id; ``problem`` what is wrong, as a sentence without its end;
           ``since`` an RFC 3339 time, empty where nobody knows; ``remedies`` commands to paste.
    """

    kind: Kind
    object: str
    problem: str
    since: str = ""
    remedies: tuple[str, ...] = ()
    fix: Fix | None = None

    @property
    def id(self) -> str:
        """Return its name, the same at every look: ``slices-of-gone-node/node-7``."""
        return f"{self.kind.name}/{self.object}"


def lasting(first: Iterable[Finding], second: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return what two looks found, as the second has it.

    What one look finds may be a claim that is prepared, or a pod that ends, at this moment.
    """
    before = {one.id for one in first}
    return tuple(one for one in second if one.id in before)
