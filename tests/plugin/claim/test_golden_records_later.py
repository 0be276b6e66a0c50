"""Records that earlier versions wrote of claims in later states: today's plugin ends them, too.

An interface was in a pod, or the pod had ended while a GPU was lost, when the plugin was updated
(tests/data/records/README.md).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from golden_claims import FOLDER, LOST, UID, Later
from older_versions import FORMATS, RECORDS

from agent.inventory.foreign.record_lines import HEAD, digest
from plugin.base.errors import DeviceHeld, InterfaceElsewhere
from plugin.claim.record_format import START, decode
from plugin.machine.namespaces import PodNamespace
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.model.claim import AllocatedClaim, ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"
WITH_NICS = sorted(name for name in FORMATS if name.startswith("3"))


def golden(later: Later) -> list[str]:
    return sorted(str(path.parent.relative_to(RECORDS)) for path in RECORDS.glob(f"*/*-{later}/record.json"))


each_parked = pytest.mark.parametrize("name", golden(Later.PARKED))
each_in_pod = pytest.mark.parametrize("name", golden(Later.IN_POD))


@dataclass
class Golden:
    """A node with the record of an earlier version in the place of today's."""

    bench: Any
    claim: AllocatedClaim
    folder: Path

    @property
    def written(self) -> bytes:
        return (self.folder / "record.json").read_bytes()

    @property
    def record_file(self) -> Path:
        found: Path = self.bench.options.claims_dir / f"{UID}.json"
        return found

    def states(self) -> Mapping[str, str]:
        return {record.claim_uid: record.state for record in self.bench.records()}


@pytest.fixture
def updated(name: str, folder: Path, offering_bench_in: Callable[..., Any]) -> Golden:
    document = json.loads((RECORDS / name / "claim.json").read_text(encoding="utf-8"))
    claim = decode_allocated_claim(document)
    bench = offering_bench_in(folder, claim.results[0].device.pool)
    bench.driver.prepare(claim)
    return Golden(bench, claim, RECORDS / name)


@pytest.fixture
def parked(updated: Golden) -> Golden:
    """The GPU is lost, and what was on the others is undone."""
    updated.bench.inject(LOST)
    updated.bench.unprepare(UID)
    updated.record_file.write_bytes(updated.written)
    updated.bench.restart()
    return updated


@each_parked
def test_a_claim_that_an_earlier_version_parked_holds_the_lost_gpu_and_nothing_else(parked: Golden) -> None:
    bench = parked.bench

    assert parked.states() == {UID: "undoing"}
    bench.prepare("u2", "gpu-1")
    bench.simulated.reset_gpu(bench.uuid(0))
    with pytest.raises(DeviceHeld):
        bench.prepare("u3", HALF)


@each_parked
def test_a_claim_that_an_earlier_version_parked_is_undone_when_the_gpu_is_back(parked: Golden) -> None:
    bench = parked.bench
    bench.driver.parked.look_after()
    assert parked.states() == {UID: "undoing"}

    bench.simulated.reset_gpu(bench.uuid(0))
    bench.driver.parked.look_after()

    assert bench.leftovers() == []
    bench.prepare("u2", HALF)


@each_parked
def test_the_pod_of_a_claim_that_an_earlier_version_parked_ends_at_once(parked: Golden) -> None:
    parked.bench.unprepare(UID)

    assert parked.states() == {UID: "undoing"}


@each_parked
def test_a_claim_that_an_earlier_version_parked_is_forgotten_after_a_reboot(parked: Golden) -> None:
    parked.bench.simulated.reboot()

    parked.bench.restart()

    assert parked.bench.leftovers() == []


@pytest.fixture
def in_pod(updated: Golden) -> Golden:
    """The interface is in the pod that the record names, as an earlier version brought it there."""
    bench = updated.bench
    (device,) = (one.device.device for one in updated.claim.results)
    bench.bring_in(UID, device)
    pod = PodNamespace.at(bench.pod)
    assert pod is not None
    updated.record_file.write_bytes(in_another_pod(updated.written, pod))
    document = (updated.folder / "document.json").read_bytes()
    bench.document(UID).write_bytes(document.replace(FOLDER, str(bench.simulated.directory.parent).encode()))
    return updated


def in_another_pod(written: bytes, pod: PodNamespace) -> bytes:
    """Return a record with the pod that is here: nobody can make a namespace of a wanted identity.

    Checksums and seals are made anew, all other bytes stay.
    """
    before, lines = START, []
    recorded = decode(written, ClaimUid(UID)).record.devices[0]
    old = recorded.interface.pod  # type: ignore[union-attr]
    for line in written.splitlines():
        head = HEAD.match(line)
        assert head is not None
        claim, _, seal = line[head.end() :].partition(b',"seal":')
        claim = claim if seal else claim.removesuffix(b"}")
        claim = claim.replace(old.path.encode(), str(pod.path).encode())
        claim = claim.replace(old.identity.encode(), pod.identity.encode())
        covered = head[0].replace(head[2], digest(claim).encode()) + claim
        before = digest(before.encode() + covered)
        lines.append(covered + (f',"seal":"{before}"}}\n'.encode() if seal else b"}\n"))
    return b"".join(lines)


@each_in_pod
def test_an_interface_that_an_earlier_version_brought_in_stays_and_comes_back(
    in_pod: Golden,
) -> None:
    bench, (result,) = in_pod.bench, in_pod.claim.results
    there = bench.simulated.kernel.links(bench.pod)
    assert [link.name for link in there] == ["fast0"]

    bench.restart()
    bench.driver.prepare(in_pod.claim)
    bench.bring_in(UID, result.device.device)

    assert bench.simulated.kernel.links(bench.pod) == there
    bench.unprepare(UID)
    assert bench.leftovers() == []
    assert bench.simulated.kernel.links(None) == bench.first_links


@each_in_pod
def test_an_interface_that_an_earlier_version_brought_in_goes_into_no_second_pod(in_pod: Golden) -> None:
    bench, (result,) = in_pod.bench, in_pod.claim.results
    other = bench.pod.with_name("other-pod")
    other.touch()
    bench.restart()

    with pytest.raises(InterfaceElsewhere):
        bench.bring_in(UID, result.device.device, other)


@each_in_pod
def test_a_pod_that_ended_while_the_plugin_was_updated_gives_its_interface_back(in_pod: Golden) -> None:
    """The record is as the earlier version wrote it, byte for byte: its pod is not here any more."""
    in_pod.record_file.write_bytes(in_pod.written)
    in_pod.bench.pod.unlink()
    in_pod.bench.restart()
    assert in_pod.record_file.read_bytes() == in_pod.written

    in_pod.bench.unprepare(UID)

    assert in_pod.bench.leftovers() == []
    assert in_pod.bench.simulated.kernel.links(None) == in_pod.bench.first_links


@each_in_pod
def test_an_interface_of_an_earlier_version_and_boot_is_forgotten(in_pod: Golden) -> None:
    in_pod.bench.simulated.reboot()

    in_pod.bench.restart()

    assert in_pod.bench.leftovers() == []


def test_every_format_has_parked_claims_and_each_with_nics_has_interfaces_in_pods() -> None:
    assert {name.partition("/")[0] for name in golden(Later.PARKED)} == set(FORMATS)
    assert {name.partition("/")[0] for name in golden(Later.IN_POD)} == set(WITH_NICS)
