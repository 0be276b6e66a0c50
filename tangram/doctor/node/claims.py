"""PURE: records, CDI documents and claims that do not go together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.record import Record
from plugin.claim.states import State
from scheduler_core.model.claim import ClaimUid
from tangram.doctor import kinds
from tangram.doctor.finding import Finding, Release
from tangram.doctor.node.facts import ClaimFacts, NodeFacts

_LONG_S: Final = 300.0
"""How long a claim may be half prepared or half undone. Units: seconds."""


def claim_findings(facts: NodeFacts) -> Iterator[Finding]:
    """Yield what is wrong with claims on the node."""
    census = facts.claims.census
    for quarantined in census.quarantined:
        yield _of_quarantined(quarantined)
    for record in census.records:
        yield from _of_record(facts, record)
    known = {one.uid for one in census.records} | {one.uid for one in census.quarantined}
    for uid in sorted(facts.claims.checksums.keys() - known):
        yield _of_stray_document(facts.claims, uid)
    yield from _without_record(facts, known)


def _of_quarantined(found: Quarantined) -> Finding:
    held = ", ".join(found.devices) or "nothing that is known"
    return Finding(
        kind=kinds.RECORD_QUARANTINED,
        object=found.uid,
        problem=f"{found.text}: {found.why}; it may hold {held}",
        remedies=(f"tangram plugin release {found.uid}",),
        fix=Release(found.uid),
    )


def _of_record(facts: NodeFacts, record: Record) -> Iterator[Finding]:
    since = facts.claims.written_s.get(record.uid, 0.0)
    name = f"claim {record.ref} ({record.uid})"
    show = (f"tail -n 1 {facts.claims.record_path / record.uid}.json",)
    if record.boot_id != facts.machine.boot_id:
        yield Finding(
            kind=kinds.RECORD_OF_EARLIER_BOOT,
            object=record.uid,
            problem=f"the record of {name} is of boot {record.boot_id}, and this is {facts.machine.boot_id}",
            since=_time(since),
            remedies=show,
        )
    elif record.state is not State.COMPLETED:
        if facts.now_s - since > _LONG_S:
            half = "prepared" if record.state is State.STARTED else "undone"
            devices = ", ".join(one.device for one in record.devices) or "no device yet"
            yield Finding(
                kind=kinds.RECORD_HALF_DONE,
                object=record.uid,
                problem=f"{name} is half {half}; it has {devices}",
                since=_time(since),
                remedies=("tangram plugin status", *show),
            )
    else:
        yield from _of_completed(facts, record, name)


def _of_completed(facts: NodeFacts, record: Record, name: str) -> Iterator[Finding]:
    why = facts.server.over.get(record.uid, "") if facts.server else ""
    programs = facts.server.programs.get(record.uid, "") if facts.server else ""
    look = f"kubectl --namespace {record.namespace} get resourceclaim {record.name} --output yaml"
    if why:
        users = f"; programs use its GPUs: {programs}" if programs else ""
        yield Finding(
            kind=kinds.CLAIM_HELD_BY_PROGRAMS if programs else kinds.RECORD_WITHOUT_CLAIM,
            object=record.uid,
            problem=f"{name}: {why}{users}",
            remedies=("nvidia-smi", look) if programs else (look,),
        )
    yield from _of_document(facts.claims, record, name)


def _of_document(facts: ClaimFacts, record: Record, name: str) -> Iterator[Finding]:
    found, path = facts.checksums.get(record.uid), f"{facts.document_path}{record.uid}.json"
    if found is None:
        kind, problem = kinds.DOCUMENT_MISSING, f"{name} is prepared, and {path} is missing"
    elif isinstance(record.cdi_sha256, str) and record.cdi_sha256 != found:
        kind, problem = kinds.DOCUMENT_CHANGED, f"{path} of {name} is not what was written"
    else:
        return
    yield Finding(kind=kind, object=record.uid, problem=problem, remedies=(f"ls -l {path}",))


def _of_stray_document(facts: ClaimFacts, uid: ClaimUid) -> Finding:
    path = f"{facts.document_path}{uid}.json"
    return Finding(
        kind=kinds.DOCUMENT_OF_NOBODY,
        object=uid,
        problem=f"{path} is there, and claim {uid} has no record",
        remedies=(f"ls -l {path}",),
    )


def _without_record(facts: NodeFacts, known: set[ClaimUid]) -> Iterator[Finding]:
    in_use = facts.server.in_use if facts.server else {}
    for uid, (claim, pod) in sorted(in_use.items()):
        if uid not in known:
            namespace, _, name = pod.partition("/")
            yield Finding(
                kind=kinds.CLAIM_WITHOUT_RECORD,
                object=uid,
                problem=f"pod {pod} runs with claim {claim} ({uid}), and no record says so",
                remedies=(f"kubectl --namespace {namespace} delete pod {name}",),
            )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else ""
