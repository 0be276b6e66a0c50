"""The page of a program's status."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.log_fields import fields
from daemon.status.last_errors import MOST, LastErrors
from daemon.status.page import WIDTH, Status, Table, duration

words = st.text(st.characters(codec="ascii", exclude_categories=("Cc",)), max_size=200)
rows = st.lists(st.fixed_dictionaries({"state": words, "age": words, "what": words}), max_size=5)


def cells(row: Any) -> tuple[str, ...]:
    return row["state"], row["age"], row["what"]


def table(*rows: dict[str, Any]) -> Table:
    return Table("held_locks", ("STATE", "AGE", "WHAT"), rows, cells)


def test_a_page_has_facts_and_tables_in_columns() -> None:
    locks = table(
        {"state": "held", "age": "3m10s", "what": "GPU 0"}, {"state": "awaited", "age": "1s", "what": "GPU 1"}
    )

    page = Status({"node": "node-a", "log_level": "info", "ready": True}, (locks, table())).text()

    assert page == (
        "node:      node-a\n"
        "log level: info\n"
        "ready:     yes\n"
        "\n"
        "held locks:\n"
        "  STATE    AGE    WHAT\n"
        "  held     3m10s  GPU 0\n"
        "  awaited  1s     GPU 1\n"
        "\n"
        "held locks: none\n"
    )


def test_a_long_last_column_goes_on_below_itself() -> None:
    page = Status({}, (table({"state": "held", "age": "1s", "what": "word " * 30}),)).text()

    *_, second, third = page.splitlines()
    assert {len(line) - len(line.lstrip()) for line in (second, third)} == {len("  STATE  AGE  ")}


@given(rows)
def test_no_line_of_a_page_is_longer_than_the_width(found: list[dict[str, str]]) -> None:
    page = Status({"node": "n" * 200}, (table(*found),)).text()

    assert all(len(line) <= WIDTH for line in page.splitlines())


@given(rows)
def test_json_has_every_row_as_it_is(found: list[dict[str, str]]) -> None:
    value = Status({"node": "a"}, (table(*found),)).json()

    assert json.loads(json.dumps(value)) == {"node": "a", "held_locks": found}


def test_a_page_of_many_rows_says_how_many_it_leaves_out() -> None:
    many = [{"state": "held", "age": "1s", "what": str(number)} for number in range(250)]

    assert Status({}, (table(*many),)).text().endswith("  and 50 more; --json prints all of them\n")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.9, "0s"), (59, "59s"), (190, "3m10s"), (7500, "2h05m"), (273600, "3d04h"), (-1, "0s")],
)
def test_time_spans_are_told_in_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.fixture
def kept() -> Any:
    errors, log = LastErrors(), logging.getLogger("kept")
    log.addHandler(errors)
    log.setLevel(logging.INFO)
    yield errors, log
    log.removeHandler(errors)


def test_the_last_warnings_are_kept_with_their_fields_and_lesser_lines_are_not(kept: Any) -> None:
    errors, log = kept
    log.info("nothing special")
    log.warning("claim %s is refused", "c", extra=fields(uid="u1"))

    (row,) = errors.table().rows
    assert (row["level"], row["message"], row["uid"]) == ("warning", "claim c is refused", "u1")


def test_of_many_errors_the_last_are_kept_with_the_name_of_the_exception(kept: Any) -> None:
    errors, log = kept
    for number in range(MOST + 5):
        try:
            raise ValueError(number)
        except ValueError:
            log.exception("not done")

    rows = errors.table().rows
    assert len(rows) == MOST
    assert rows[-1]["message"] == f"not done: ValueError: {MOST + 4}"
