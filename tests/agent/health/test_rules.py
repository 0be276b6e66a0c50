"""The health rules of a policy file: read strictly, refused with key, value and rule."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.health.causes import TABLE, Cause, Heals, Severity
from agent.health.rules import BadHealthRules, HealthRules, health_rules


def test_every_cause_has_a_row() -> None:
    assert set(TABLE) == set(Cause)


def test_a_row_says_after_how_long_it_heals_exactly_where_quiet_heals_it() -> None:
    assert all((row.quiet_s is not None) == (row.heals is Heals.QUIET) for row in TABLE.values())


def test_an_empty_section_is_the_table() -> None:
    assert health_rules({}) == HealthRules()


def test_a_section_changes_causes_xids_and_unknown_xids() -> None:
    rules = health_rules(
        {
            "causes": {"slowdown": {"severity": "no-new-pods", "quietMinutes": 2}, "nvlink-down": {}},
            "xids": {79: "no-new-pods", "31": "evict"},
            "unknownXids": "note",
        }
    )
    assert rules.severity(Cause.SLOWDOWN) is Severity.NO_NEW_PODS
    assert rules.quiet(Cause.SLOWDOWN) == 120.0
    assert rules.severity(Cause.GPU_LOST, 79) is Severity.NO_NEW_PODS
    assert rules.severity(Cause.GPU_LOST) is Severity.EVICT
    assert rules.severity(Cause.XID_APPLICATION, 31) is Severity.EVICT
    assert rules.severity(Cause.XID_UNKNOWN, 12345) is Severity.NOTE


@pytest.mark.parametrize(
    ("section", "key", "rule"),
    [
        ({"xid": {}}, "health.xid", "is unknown"),
        ({"xids": []}, "health.xids", "must be a mapping"),
        ({"xids": {"abc": "note"}}, "health.xids.abc", "must be a number"),
        ({"xids": {True: "note"}}, "health.xids.True", "must be a number"),
        ({"xids": {79: "fatal"}}, "health.xids.79", "must be one of note, no-new-pods, evict"),
        ({"xids": {79: "note", "79": "note"}}, "health.xids.79", "stands there twice"),
        ({"xids": {"9" * 5000: "note"}}, "health.xids." + "9" * 5000, "must be a number"),
        ({"causes": {"xid-79": {}}}, "health.causes.xid-79", "is unknown"),
        ({"causes": {"slowdown": "note"}}, "health.causes.slowdown", "must be a mapping"),
        ({"causes": {"slowdown": {"quietMinutes": 0}}}, "health.causes.slowdown.quietMinutes", "above 0"),
        (
            {"causes": {"slowdown": {"quietMinutes": math.nan}}},
            "health.causes.slowdown.quietMinutes",
            "above 0",
        ),
        (
            {"causes": {"xid-reset": {"quietMinutes": 5}}},
            "health.causes.xid-reset.quietMinutes",
            "a reset of the GPU",
        ),
        ({"unknownXids": 5}, "health.unknownXids", "must be one of"),
        (
            {"unknownXids": "note", "causes": {"xid-unknown": {"severity": "evict"}}},
            "health.unknownXids",
            "says the same",
        ),
    ],
)
def test_a_wrong_section_is_refused_with_key_value_and_rule(
    section: dict[object, object], key: str, rule: str
) -> None:
    with pytest.raises(BadHealthRules) as refused:
        health_rules(section)  # type: ignore[arg-type]
    assert refused.value.key == key
    assert rule in str(refused.value)
    assert len(str(refused.value)) < len(key) + 600


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)
_sections = st.dictionaries(st.sampled_from(["causes", "xids", "unknownXids", "x"]), _json, max_size=4)


@given(_json | _sections)
def test_any_section_gives_rules_or_one_error(section: object) -> None:
    with suppress(BadHealthRules):
        health_rules(section)  # type: ignore[arg-type]
