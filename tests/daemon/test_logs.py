"""The log of a program."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys

import pytest

from daemon import logs

PROGRAM = """
import logging
from daemon.logs import log_to_standard_error
handler = log_to_standard_error()
assert logging.getLogger().handlers == [handler]
log = logging.getLogger("agent.publishing")
log.debug("not shown")
log.info("published %d slices", 3)
log.warning("the API server is busy")
"""


def test_each_record_from_info_on_is_a_line_on_standard_error_with_time_level_and_origin() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )

    time = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}"
    first, second = done.stderr.splitlines()
    assert re.fullmatch(f"{time} INFO agent.publishing: published 3 slices", first)
    assert re.fullmatch(f"{time} WARNING agent.publishing: the API server is busy", second)
    assert done.stdout == ""


JSON_PROGRAM = """
import logging
from daemon import logs
logs.log_to_standard_error(logs.LogOptions(logs.JSON, "warning"), "node-a")
log = logging.getLogger("agent")
log.info("not shown")
logs.set_level("debug")
log.debug("shown now")
logs.set_level("debug")
logs.set_level("error")
log.warning("not shown any more")
"""


def test_the_level_changes_while_the_program_runs_and_that_is_logged_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", JSON_PROGRAM], capture_output=True, text=True, check=True, timeout=60
    )

    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["level"], line["message"]) for line in lines] == [
        ("warning", "the level of the log is debug now, it was warning"),
        ("debug", "shown now"),
        ("warning", "the level of the log is error now, it was debug"),
    ]
    assert {line["node"] for line in lines} == {"node-a"}


@pytest.mark.parametrize("options", [["--log-format", "xml"], ["--log-level", "loud"]])
def test_another_format_or_level_is_refused(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    logs.add_options(parser)

    with pytest.raises(SystemExit):
        parser.parse_args(options)

    assert f"argument {options[0]}: invalid choice: '{options[1]}'" in capsys.readouterr().err
