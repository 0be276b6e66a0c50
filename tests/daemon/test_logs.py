"""The log of a program."""

from __future__ import annotations

import re
import subprocess
import sys

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
