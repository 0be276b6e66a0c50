"""A status page says what is wrong with which devices: how bad, since when, how often, and what ends it."""

from __future__ import annotations

from agent.health.causes import Cause, Severity
from agent.health.findings import Finding, Findings
from agent.health.rules import HealthRules
from agent.health.status import causes_table
from daemon.status.page import Status
from scheduler_core.model.device import DeviceName

SINCE_S, NOW_S = 1_700_000_000.0, 1_700_000_130.0
LOST = Finding(Cause.GPU_LOST, Severity.EVICT, SINCE_S, (79,))
FAILED = Finding(Cause.XID_APPLICATION, Severity.NOTE, SINCE_S - 60, (31,), "page fault", times=3)


def health(**found: tuple[Finding, ...]) -> Findings:
    return {DeviceName(name.replace("_", "-")): own for name, own in found.items()}


def text(found: Findings, rules: HealthRules | None = None) -> str:
    page = Status({}, (causes_table(found, rules or HealthRules(), NOW_S),)).text()
    return " ".join(page.split())


def test_a_row_has_cause_severity_time_count_and_what_ends_it() -> None:
    (row,) = causes_table(health(gpu_0=(FAILED,)), HealthRules(), NOW_S).rows

    assert row == {
        "cause": "xid-application",
        "severity": "note",
        "since": "2023-11-14T22:12:20Z",
        "age_seconds": 190.0,
        "times": 3,
        "xids": [31],
        "ends": "it has not come again for 10 minutes",
        "why": str(FAILED),
        "devices": ["gpu-0"],
    }


def test_the_page_says_it_in_words_of_80_columns() -> None:
    page = Status({}, (causes_table(health(gpu_0=(LOST,)), HealthRules(), NOW_S),)).text()

    assert "evict     2m10s  1      gpu-0: gpu-lost, XID 79: it has fallen off the bus;" in page
    assert "what ends it: a reset of the GPU, or a reboot" in " ".join(page.split())
    assert max(map(len, page.splitlines())) <= 80


def test_what_is_wrong_with_a_gpu_and_all_its_parts_is_one_row_that_begins_with_the_gpu() -> None:
    parts = {f"gpu_0_mig_{number}": (LOST,) for number in range(7)}
    found = health(**parts, gpu_0=(LOST,))

    (row,) = causes_table(found, HealthRules(), NOW_S).rows

    assert (row["devices"][0], len(row["devices"])) == ("gpu-0", 8)
    assert "gpu-0, gpu-0-mig-0, gpu-0-mig-1, gpu-0-mig-2 and 4 more: gpu-lost" in text(found)


def test_each_cause_of_a_device_has_a_row_the_worst_first() -> None:
    found = health(gpu_1=(FAILED,), gpu_0=(LOST, FAILED))

    rows = causes_table(found, HealthRules(), NOW_S).rows

    assert [(row["cause"], row["devices"]) for row in rows] == [
        ("gpu-lost", ["gpu-0"]),
        ("xid-application", ["gpu-0", "gpu-1"]),
    ]


def test_the_minutes_are_those_of_the_policy() -> None:
    rules = HealthRules(quiet_s={Cause.XID_APPLICATION: 90.0})

    assert "it has not come again for 1.5 minutes" in text(health(gpu_0=(FAILED,)), rules)


def test_a_clock_that_was_set_back_makes_no_age_below_zero() -> None:
    (row,) = causes_table(health(gpu_0=(LOST,)), HealthRules(), SINCE_S - 5).rows

    assert row["age_seconds"] == 0.0


def test_where_nothing_is_wrong_the_page_says_so() -> None:
    assert text({}) == "causes: none"
