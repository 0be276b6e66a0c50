"""The log of a program follows what a policy says, except where the command line says it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from daemon.logs import FollowedLog, LogOptions, level

DEBUG, JSON = LogOptions(level="debug"), LogOptions(form="json")


class Log:
    """A log in memory that a program with these options has."""

    def __init__(self, root: logging.Logger) -> None:
        self.lines = io.StringIO()
        self.handler = logging.StreamHandler(self.lines)
        root.addHandler(self.handler)

    def followed(self, options: LogOptions | None = None) -> FollowedLog:
        return FollowedLog(self.handler, options or LogOptions(), "node-a")

    def written(self) -> list[str]:
        return self.lines.getvalue().splitlines()


@pytest.fixture
def log() -> Iterator[Log]:
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.INFO)
    made = Log(root)
    yield made
    root.removeHandler(made.handler)
    root.setLevel(before)


def test_the_level_follows_and_goes_back_when_nothing_is_said_any_more(log: Log) -> None:
    followed, found = log.followed(), []
    for said in (DEBUG, DEBUG, LogOptions(level="error"), LogOptions()):
        followed.follow(said)
        found.append(level())

    assert found == ["debug", "debug", "error", "info"]
    assert len(log.written()) == 3


def test_lines_become_json_with_the_name_of_the_node_and_text_again(log: Log) -> None:
    followed = log.followed()
    followed.follow(JSON)
    logging.getLogger("x").warning("first")
    followed.follow(LogOptions())
    logging.getLogger("x").warning("second")

    first, second = log.written()
    assert {"node": "node-a", "message": "first"}.items() <= json.loads(first).items()
    assert second.endswith("WARNING x: second")


def test_what_the_command_line_says_counts_and_that_is_told_once(log: Log) -> None:
    followed = log.followed(LogOptions("text", "warning"))
    logging.getLogger().setLevel(logging.WARNING)
    for said in (LogOptions("json", "debug"), LogOptions("json", "debug")):
        followed.follow(said)

    assert level() == "warning"
    assert log.written() == [
        "--log-format text is used, as the command line says; the policy says json",
        "--log-level warning is used, as the command line says; the policy says debug",
    ]


def test_a_level_that_was_set_on_the_socket_stays_until_the_policy_says_another(log: Log) -> None:
    followed = log.followed()
    followed.follow(DEBUG)
    logging.getLogger().setLevel(logging.ERROR)
    followed.follow(DEBUG)
    stayed = level()
    followed.follow(LogOptions(level="warning"))

    assert (stayed, level()) == ("error", "warning")
