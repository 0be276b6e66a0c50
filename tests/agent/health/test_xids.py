"""XIDs are judged as NVIDIA's catalog says what to do, and where not, with a reason."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from agent.health.causes import TABLE, Cause, Heals, Severity
from agent.health.rules import HealthRules
from agent.health.xids import CATALOG, LAST, OTHERWISE, READ, SOURCE, XIDS, cause_of_xid

NUMBERS = [xid for action in CATALOG.values() for xid in action.xids]


def test_the_catalog_has_each_number_once_and_a_source_with_its_date() -> None:
    assert Counter(NUMBERS).most_common(1)[0][1] == 1
    assert (min(NUMBERS), max(NUMBERS)) == (8, LAST)
    assert SOURCE.startswith("https://docs.nvidia.com/")
    assert date.fromisoformat(READ)


def test_every_number_of_the_catalog_is_known() -> None:
    assert sorted(XIDS) == sorted(NUMBERS)


def test_what_is_judged_otherwise_is_in_the_catalog_once_and_is_otherwise() -> None:
    judged = [xid for one in OTHERWISE for xid in one.xids]
    by_action = {xid: action.cause for action in CATALOG.values() for xid in action.xids}

    assert Counter(judged).most_common(1)[0][1] == 1
    assert all(one.cause is not by_action[xid] for one in OTHERWISE for xid in one.xids)
    assert {xid for xid, cause in by_action.items() if cause is None} <= set(judged)


RESET, QUIET = Heals.RESET, Heals.QUIET
NOTE, NO_NEW_PODS, EVICT = Severity


@pytest.mark.parametrize(
    ("xid", "severity", "heals"),
    [
        (8, NOTE, QUIET),
        (13, NOTE, QUIET),
        (31, NOTE, QUIET),
        (43, NOTE, QUIET),
        (45, NOTE, QUIET),
        (46, NO_NEW_PODS, RESET),
        (48, NO_NEW_PODS, RESET),
        (62, NO_NEW_PODS, RESET),
        (63, NOTE, QUIET),
        (64, NO_NEW_PODS, RESET),
        (68, NOTE, QUIET),
        (69, NOTE, QUIET),
        (74, NO_NEW_PODS, RESET),
        (79, EVICT, RESET),
        (92, NOTE, QUIET),
        (94, NOTE, QUIET),
        (95, NO_NEW_PODS, RESET),
        (110, NO_NEW_PODS, RESET),
        (119, NO_NEW_PODS, RESET),
        (120, NO_NEW_PODS, RESET),
        (121, NOTE, QUIET),
        (136, NO_NEW_PODS, RESET),
        (137, NOTE, QUIET),
        (140, NO_NEW_PODS, RESET),
        (143, NO_NEW_PODS, RESET),
        (144, NO_NEW_PODS, QUIET),
        (149, NO_NEW_PODS, QUIET),
        (150, NO_NEW_PODS, RESET),
        (154, NOTE, QUIET),
        (156, NO_NEW_PODS, RESET),
        (158, NO_NEW_PODS, RESET),
        (172, NO_NEW_PODS, RESET),
    ],
)
def test_a_number_is_as_bad_as_the_catalog_says_and_heals_so(
    xid: int, severity: Severity, heals: Heals
) -> None:
    assert HealthRules().severity(XIDS[xid], xid) is severity
    assert TABLE[XIDS[xid]].heals is heals


def test_a_context_switch_that_timed_out_needs_a_reset_although_nvidias_drivers_pass_over_it() -> None:
    passed_over = {13, 31, 43, 45, 68, 109}

    assert {xid for xid in passed_over if HealthRules().severity(XIDS[xid], xid) is not NOTE} == {109}
    assert XIDS[109] is Cause.XID_RESET


@pytest.mark.parametrize("xid", [None, 0, 1, 59, LAST + 1, 999, 2**32])
def test_an_xid_never_heard_of_is_unknown_and_keeps_new_pods_away(xid: int | None) -> None:
    assert cause_of_xid(xid) is Cause.XID_UNKNOWN
    assert HealthRules().severity(Cause.XID_UNKNOWN, xid) is NO_NEW_PODS
