"""Records and CDI documents that earlier versions wrote: today's plugin goes on with their claims.

Each was written by the program of its time (tests/data/records/README.md). A node is brought into the state
in which that program left it, its record and document are put in the place of today's, and the plugin starts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import ON_DEMAND
from golden_claims import CLAIMS, FOLDER, UID
from older_versions import FORMATS, RECORDS

from agent.hardware.simulated.state import StateFile
from plugin.claim.record_format import decode
from plugin.claim.states import State
from plugin.runtime.mailbox import Mailbox
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.model.claim import AllocatedClaim, ClaimUid

NAMES = {claim.name for claim in CLAIMS}
GOLDEN = sorted(
    str(path.parent.relative_to(RECORDS))
    for path in RECORDS.glob("*/*/record.json")
    if path.parent.name in NAMES
)


@dataclass
class Updated:
    """A node whose plugin was updated while a claim was prepared."""

    bench: Any
    claim: AllocatedClaim
    golden: Path

    def __post_init__(self) -> None:
        self.answer = self.bench.driver.prepare(self.claim)
        self.hardware = self.seen()
        self.record = (self.golden / "record.json").read_bytes()
        folder = str(self.bench.simulated.directory.parent).encode()
        self.document = (self.golden / "document.json").read_bytes().replace(FOLDER, folder)
        self.record_file.write_bytes(self.record)
        self.bench.document(UID).write_bytes(self.document)

    @property
    def record_file(self) -> Path:
        folder: Path = self.bench.options.claims_dir
        return folder / f"{UID}.json"

    def seen(self) -> tuple[object, ...]:
        """Return all of the hardware that claims change."""
        found = StateFile(self.bench.simulated.directory).read()
        return found.gpus, found.vfs, found.functions, found.fabric, self.bench.machine.mps.names()


@pytest.fixture
def updated(name: str, folder: Path, offering_bench_in: Callable[..., Any]) -> Iterator[Updated]:
    document = json.loads((RECORDS / name / "claim.json").read_text(encoding="utf-8"))
    claim = decode_allocated_claim(document)
    bench = offering_bench_in(
        folder, claim.results[0].device.pool, ON_DEMAND if "on-demand" in name else None
    )
    as_mounted = bench.simulated.root / str(folder).removeprefix("/")
    as_mounted.parent.mkdir(parents=True, exist_ok=True)
    as_mounted.symlink_to(folder)
    with open(Mailbox(bench.options.hook_dir).set_up()):
        bench.options = replace(bench.options, host_root=bench.simulated.root)
        bench.restart()
        yield Updated(bench, claim, RECORDS / name)


each = pytest.mark.parametrize("name", GOLDEN)
each_of_lines = pytest.mark.parametrize("name", [name for name in GOLDEN if not name.startswith("1/")])
"""Format 1 had one line, which was replaced."""


@each
def test_a_claim_of_an_earlier_version_goes_on_as_it_was_with_its_document_byte_for_byte(
    updated: Updated,
) -> None:
    bench = updated.bench
    assert bench.driver.reconcile() == ()

    for _ in range(2):
        bench.restart()
        assert bench.driver.prepare(updated.claim) == updated.answer
        assert bench.document(UID).read_bytes() == updated.document
        assert updated.seen() == updated.hardware
    bench.unprepare(UID)

    assert bench.leftovers() == []


@each
def test_a_claim_of_an_earlier_version_is_undone_to_nothing(updated: Updated) -> None:
    updated.bench.restart()
    assert updated.record_file.read_bytes() == updated.record

    updated.bench.unprepare(UID)

    assert updated.bench.leftovers() == []


@each
def test_a_claim_of_an_earlier_version_and_boot_is_forgotten(updated: Updated) -> None:
    updated.bench.simulated.reboot()

    updated.bench.restart()

    assert updated.bench.leftovers() == []


@each_of_lines
def test_what_an_earlier_version_began_and_did_not_complete_is_undone_at_the_start(updated: Updated) -> None:
    *begun, last = updated.record.splitlines(keepends=True)
    assert decode(b"".join(begun), ClaimUid(UID)).record.state is State.STARTED
    assert b'"state":"completed"' in last
    updated.record_file.write_bytes(b"".join(begun))
    updated.bench.document(UID).unlink()

    updated.bench.restart()

    assert updated.bench.leftovers() == []


def test_every_format_has_golden_records() -> None:
    assert {name.partition("/")[0] for name in GOLDEN} == set(FORMATS)
