"""PURE: findings in words for people, and as one JSON value for scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from tangram.doctor.finding import Finding

SCHEMA: Final = "tangram.dev/doctor/v1"


def text_of(findings: Sequence[Finding], what: str, command: str) -> str:
    """Return findings in blocks, one for each, below the heading of their kind; one line without any.

    Shape: ``what`` was looked at; ``command`` the way to call this program for it again.
    """
    if not findings:
        return f"{what}: nothing is stuck"
    lines = [f"{what}: {len(findings)} {'finding' if len(findings) == 1 else 'findings'}"]
    for kind, found in groupby(_by_kind(findings), key=lambda one: one.kind):
        lines += ["", kind.title, f"  why it matters: {kind.why}", f"  what to do: {kind.todo}"]
        for one in found:
            lines += ["", *_block(one, command)]
    return "\n".join(lines)


def _block(finding: Finding, command: str) -> Iterator[str]:
    yield f"  {finding.id}"
    yield f"    {finding.problem}"
    if finding.since:
        yield f"    since {finding.since}"
    yield from (f"    $ {one}" for one in finding.remedies)
    if finding.fix is not None:
        yield f"    $ {command} --fix '{finding.id}'"


def json_of(findings: Sequence[Finding], scope: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return findings for scripts. Shape: ``scope`` says what was looked at."""
    listed = [value_of(one) for one in _by_kind(findings)]
    return {"schema": SCHEMA, **scope, "healthy": not findings, "findings": listed}


def json_of_fix(
    finding: Finding, scope: Mapping[str, Any], done: str, *, is_dry_run: bool
) -> Mapping[str, Any]:
    """Return what a fix did, or would do, for scripts."""
    return {"schema": SCHEMA, **scope, "fixed": value_of(finding), "dryRun": is_dry_run, "done": done}


def value_of(finding: Finding) -> Mapping[str, Any]:
    """Return one finding for scripts. Shape: ``since`` and ``fix`` null where there is none."""
    return {
        "id": finding.id,
        "kind": finding.kind.name,
        "object": finding.object,
        "title": finding.kind.title,
        "problem": finding.problem,
        "since": finding.since or None,
        "why": finding.kind.why,
        "todo": finding.kind.todo,
        "commands": list(finding.remedies),
        "fix": None if finding.fix is None else str(finding.fix),
    }


def _by_kind(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings with those of one kind together, in the order in which kinds first come."""
    found = tuple(findings)
    first: dict[str, int] = {}
    for place, one in enumerate(found):
        first.setdefault(one.kind.name, place)
    return sorted(found, key=lambda one: first[one.kind.name])
