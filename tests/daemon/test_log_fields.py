"""What log lines are about."""

from __future__ import annotations

import io
import json
import logging
import re
import threading
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon import logs
from daemon.log_fields import AddFields, fields, log_about

_log = logging.getLogger("about")


class Lines:
    """A log in memory, one JSON value for each line."""

    def __init__(self, node: str = "") -> None:
        self._stream = io.StringIO()
        self.handler = logging.StreamHandler(self._stream)
        self.handler.setFormatter(logs.JsonLines(node))
        self.handler.addFilter(AddFields())

    def all(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    found = Lines("node-a")
    _log.addHandler(found.handler)
    _log.setLevel(logging.INFO)
    yield found
    _log.removeHandler(found.handler)


def test_a_json_line_has_time_level_logger_text_and_node(lines: Lines) -> None:
    _log.warning("published %d slices", 3)

    (line,) = lines.all()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line == {
        "level": "warning",
        "logger": "about",
        "message": "published 3 slices",
        "node": "node-a",
    }


def test_a_line_has_the_fields_of_the_blocks_around_it_and_its_own(lines: Lines) -> None:
    with log_about(uid="u1"), log_about(namespace="default", claim="c"):
        _log.info("made", extra=fields(device="gpu-0", request="gpu"))
    _log.info("after")

    made, after = lines.all()
    assert {name: made[name] for name in ("namespace", "claim", "uid", "request", "device")} == {
        "namespace": "default",
        "claim": "c",
        "uid": "u1",
        "request": "gpu",
        "device": "gpu-0",
    }
    assert "uid" not in after


def test_the_fields_of_a_block_are_those_of_its_own_thread_only(lines: Lines) -> None:
    with log_about(uid="u1"):
        other = threading.Thread(target=_log.info, args=("elsewhere",))
        other.start()
        other.join()

    assert "uid" not in lines.all()[0]


def test_a_traceback_is_one_field_of_the_line(lines: Lines) -> None:
    try:
        raise ValueError("broken\nin two lines")
    except ValueError:
        _log.exception("not done")

    (line,) = lines.all()
    assert line["message"] == "not done"
    assert line["traceback"].startswith("Traceback (most recent call last):\n")
    assert line["traceback"].endswith("ValueError: broken\nin two lines")


@given(text=st.text(st.characters(exclude_categories=())), device=st.text(min_size=1))
def test_whatever_the_text_is_the_line_is_one_json_object(text: str, device: str) -> None:
    found = Lines()
    record = logging.LogRecord("about", logging.INFO, __file__, 1, "%s", (text,), None)
    record.fields = {"device": device}
    found.handler.handle(record)

    (line,) = found.all()
    assert (line["message"], line["device"]) == (text, device)
