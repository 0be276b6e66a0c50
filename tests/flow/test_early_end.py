"""A pod that is deleted while its programs still load ends at once, not after its grace period."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import needs
import pytest

# A library of both programs that takes its time; loaded to its end, it says so by its status.
SLOW = """
import select
print("loading", flush=True)
select.select([], [], [], 20)
raise SystemExit(3)
"""


@pytest.mark.parametrize("program", ["agent", "plugin"])
def test_process_one_of_a_container_ends_on_a_signal_that_comes_while_it_loads(
    program: str, tmp_path: Path
) -> None:
    if not needs.may_unshare("--pid", "--fork"):
        needs.fail_or_skip(needs.PRIVILEGES)
    (tmp_path / "msgspec.py").write_text(SLOW)
    as_process_one = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-m", program]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    with subprocess.Popen(as_process_one, env=environment, stdout=subprocess.PIPE, text=True) as outside:
        assert outside.stdout is not None
        assert outside.stdout.readline() == "loading\n"
        (process_one,) = Path(f"/proc/{outside.pid}/task/{outside.pid}/children").read_text().split()
        os.kill(int(process_one), signal.SIGTERM)
        status = outside.wait()

    assert status == 0
