"""The claim cannot be read: for every kind, before and after the record says that the claim is coming."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import fault_matrix
import pytest
from devices_of_kinds import example_of
from fault_matrix import Row, name_of, outcome_of, points
from fault_matrix.collecting import Note

from plugin._pb.dra_v1.api_pb2 import Claim
from plugin.base.errors import ClaimUnreadable
from plugin.kinds.kind import PreparableKind
from plugin.kinds.table import AnyKind
from plugin.kubelet.dra_service import Service
from scheduler_core.model.claim import ClaimRef

MOMENTS = ("before the record of a coming claim", "after the record of a coming claim")
WANTED = Claim(namespace="default", name="claim-u1", uid="u1")
POINTS = [
    (row, kind, step)
    for row in (fault_matrix.UNREAD, fault_matrix.UNREAD_AGAIN)
    for kind, step in points(row)
]


def named(value: object) -> str:
    if isinstance(value, Row):
        return value.deed.replace(" ", "-")
    return name_of(value) if isinstance(value, PreparableKind) else str(value)


class Caller:
    """A kubelet that waits for the answer."""

    def is_active(self) -> bool:
        return True

    def time_remaining(self) -> float:
        return 45.0

    def add_callback(self, _: Callable[[], None]) -> bool:
        return True


class NoAnswer:
    """An API server that answers nothing, and what is told of it. Shape: ``step`` when it fails, from 1."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.told: list[str] = []

    def read(self, ref: ClaimRef, meanwhile: Callable[[], None]) -> Mapping[str, Any]:
        if self.step > 1:
            meanwhile()
        raise ClaimUnreadable("read", f"claim {ref}", "the API server does not answer", "it is retried")

    def members(self, *_: object) -> Any:
        raise AssertionError

    def changed(self, *_: object) -> None:
        raise AssertionError

    def failed(self, _uid: str, _ref: ClaimRef, _attempted: str, error: Exception, _: object = ()) -> None:
        self.told.append(str(error))


@pytest.fixture
def folder(used_folder: Path) -> Path:
    return used_folder


@pytest.mark.parametrize(("row", "kind", "step"), POINTS, ids=named)
def test_a_claim_that_cannot_be_read_leaves_nothing_and_a_prepared_one_stays(
    bench_of_kind: Any, note: Note, row: Row, kind: AnyKind, step: int
) -> None:
    bench, example, server = bench_of_kind, example_of(kind), NoAnswer(step)
    if row is fault_matrix.UNREAD_AGAIN:
        bench.driver.prepare(bench.claim("u1", example.device, configs=example.configs))
    before = bench.leftovers()

    outcomes = Service(bench.driver, server, server).prepare([WANTED], Caller())  # type: ignore[arg-type]

    assert "the API server does not answer" in outcomes["u1"].error
    assert len(server.told) == 1
    assert bench.leftovers() == before
    note(row, kind, step, MOMENTS[step - 1], outcome_of(bench))
    bench.unprepare("u1")
    assert bench.leftovers() == []
