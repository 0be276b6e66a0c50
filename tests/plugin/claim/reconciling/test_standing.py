"""Whether a claim is over: from what the API server says, and for how long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugin.claim.reconciling.standing import ASK_S, GRACE_S, Standing, why_over
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.whole_gpus.whole_gpu import ClaimedGpu
from scheduler_core.model.claim import ClaimUid

UID = ClaimUid("u1")
RECORD = Record(
    claim_uid=UID,
    namespace="default",
    name="c",
    driver="tangram.dev",
    boot_id="boot-1",
    state=State.COMPLETED,
    devices=(
        ClaimedGpu(
            requests=("r",), pool="node-1", device="gpu-0", cdi_id="tangram.dev/claim=x", gpu_uuid="GPU-1"
        ),
    ),
)


def claim(
    uid: object = "u1", pods: object = ({"name": "pod"},), device: str = "gpu-0", pool: str = "node-1"
) -> Any:
    results = [{"driver": "tangram.dev", "pool": pool, "device": device}]
    allocation = {"devices": {"results": results}}
    return {"metadata": {"uid": uid}, "status": {"reservedFor": pods, "allocation": allocation}}


def test_a_claim_that_a_pod_has_is_not_over() -> None:
    assert why_over(claim(), UID, RECORD) == ""


def test_a_claim_that_is_gone_is_over() -> None:
    assert why_over(None, UID, RECORD) == "the API server has no claim of its name"


def test_a_claim_whose_name_another_one_has_is_over() -> None:
    assert why_over(claim("u2"), UID, RECORD) == "its name belongs to another claim, with UID u2"


@pytest.mark.parametrize("pods", [None, [], ()])
def test_a_claim_that_is_reserved_for_nobody_is_over(pods: object) -> None:
    assert "reserved for nobody" in why_over(claim(pods=pods), UID, RECORD)


@pytest.mark.parametrize("elsewhere", [{"device": "gpu-1"}, {"pool": "node-2"}])
def test_a_claim_that_was_allocated_anew_elsewhere_is_over_here(elsewhere: dict[str, str]) -> None:
    assert "other devices are allocated" in why_over(claim(**elsewhere), UID, RECORD)
    assert why_over(claim(**elsewhere), UID, None) == "", "nobody knows what it has here"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@pytest.mark.parametrize("path", [("metadata",), ("metadata", "uid"), ("status", "allocation", "devices")])
@given(odd=JSON)
def test_an_answer_that_is_not_understood_ends_no_claim(path: tuple[str, ...], odd: Any) -> None:
    answer = claim()
    part = answer
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = odd

    found = why_over(answer, UID, RECORD)

    is_other = isinstance(odd, str) or (isinstance(odd, dict) and ("uid" in odd or "results" in odd))
    assert found == "" or is_other or not odd


def test_a_claim_is_asked_for_again_only_after_a_while() -> None:
    known = Standing(asked_s=100.0)

    assert not known.is_due(100.0 + ASK_S - 1)
    assert known.is_due(100.0 + ASK_S)


@given(st.lists(st.tuples(st.booleans(), st.floats(1, 2 * GRACE_S)), max_size=8))
def test_a_claim_is_undone_only_after_it_was_over_at_each_of_two_looks_and_a_grace_period(
    looks: list[tuple[bool, float]],
) -> None:
    now, known, over_since, in_a_row = 0.0, Standing(0.0), None, 0
    for is_over, later in looks:
        now += later
        known = known.after("gone" if is_over else "", now)
        over_since = (now if over_since is None else over_since) if is_over else None
        in_a_row = in_a_row + 1 if is_over else 0

    for wait in (0.0, GRACE_S - 1, GRACE_S, 3 * GRACE_S):
        is_ripe = known.is_ripe(now + wait)
        assert is_ripe == (over_since is not None and now + wait - over_since >= GRACE_S)
        assert in_a_row >= 1 or not is_ripe, "the look that undoes it is the second one at least"
