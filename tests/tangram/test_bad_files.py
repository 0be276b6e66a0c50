"""Every command that reads a file of its user: whatever stands there, one message, and status 2."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOWHERE = "/dev/null/nowhere"
"""A folder that nobody can make."""
PLAN = ("plan", "--add", "1=a100x2", "--claim", str(ROOT / "deploy/examples/mig-claim.yaml"))
SIMULATE = ("simulate", "--add", "1=a100x2")
TRACE = ("--trace", str(ROOT / "docs/plan-ahead/trace.csv"))
READERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "allocate": ("x.yaml", ("allocate", "-f")),
    "allocate, JSON": ("x.json", ("allocate", "-f")),
    "explain": ("x.yaml", ("explain", "-f")),
    "validate": ("x.json", ("validate", "-f")),
    "classes": ("x.yaml", ("classes", "-f")),
    "show": ("x.yaml", ("show", "-f")),
    "show a node": ("x.yaml", ("show", "--node")),
    "show a table": ("x.json", ("show", "--node", "a100x2", "--partitions")),
    "show a cluster": ("x.yaml", ("show", "--cluster", "--kubeconfig")),
    "pending": ("x.yaml", ("pending", "--kubeconfig")),
    "demo": ("x.yaml", ("demo", "--node", "a100x2", "--claim")),
    "conformance": ("x.json", ("conformance",)),
    "bench": ("x.json", ("bench", "--json", "--input")),
    "top": ("x.yaml", ("top", "-f")),
    "top of a node": ("x.yaml", ("top", "--node")),
    "top of a cluster": ("x.yaml", ("top", "--cluster", "--kubeconfig")),
    "plan": ("x.yaml", ("plan", "-f")),
    "plan a workload": ("x.yaml", ("plan", "--add", "1=a100x2", "--claim")),
    "plan with nodes to add": ("x.yaml", (*PLAN, "--may-add")),
    "simulate": ("x.yaml", (*SIMULATE, *TRACE, "-f")),
    "simulate claims": ("x.yaml", (*SIMULATE, *TRACE, "--claim")),
    "simulate a trace": ("x.csv", (*SIMULATE, "--trace")),
    "migrate": ("x.yaml", ("migrate", "-f")),
    "report": ("x.yaml", ("report", "--html", "/dev/null", "-f")),
    "report of a cluster": ("x.yaml", ("report", "--html", "/dev/null", "--cluster", "--kubeconfig")),
    "serve": ("x.yaml", ("serve", "--kubeconfig")),
    "doctor": ("x.yaml", ("doctor", "--machine", "/", "--simulated")),
    "doctor of a cluster": ("x.yaml", ("doctor", "--cluster", "--kubeconfig")),
    "node create": ("x.yaml", ("node", "create", NOWHERE, "--node")),
    "policy check": ("x.yaml", ("policy", "check")),
    "agent": ("x.yaml", ("agent", "--machine", NOWHERE, "--simulated")),
    "agent, policy": ("x.yaml", ("agent", "--kubelet-dir", NOWHERE, "--policy")),
}
"""The name of a file, and the arguments before it."""


def nothing_writes(path: Path) -> None:
    os.mkfifo(path)


def one_gigabyte(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**30)


def without_a_line_end(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(65):
            file.write(b" " * 2**20)


def half_a_pair(path: Path) -> None:
    path.write_text('{"kind": "\\ud800", "nodes": ["\\ud800"], "name": "\\udfff"}')


def half_a_key(path: Path) -> None:
    path.write_text('{"\\ud800": 1}')


def text_of_another_kind(path: Path) -> None:
    path.write_bytes(b'{"kind": "\xff\xfe"}')


ODD: dict[str, Callable[[Path], None]] = {
    "a pipe that nobody writes to": nothing_writes,
    "a folder": Path.mkdir,
    "a file of one gigabyte": one_gigabyte,
    "a file of 65 MiB without a line's end": without_a_line_end,
    "half of a surrogate pair": half_a_pair,
    "half of a surrogate pair in a key": half_a_key,
    "bytes that are no UTF-8": text_of_another_kind,
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("reader", READERS)
def test_an_odd_file_is_one_message_and_no_traceback(
    tangram: Any, tmp_path: Path, reader: str, odd: str
) -> None:
    name, arguments = READERS[reader]
    path = tmp_path / name
    ODD[odd](path)

    answer = tangram(*arguments, path)

    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith(("tangram: ", "tangram agent: ", '{"error": '))
    assert answer.err.count("\n") == 1
    assert str(tmp_path)[:60] in answer.err  # what is longer than 80 characters is cut
    assert "Traceback" not in answer.err


def test_a_name_that_is_too_long_for_a_file_is_one_message(tangram: Any) -> None:
    for name, arguments in READERS.values():
        answer = tangram(*arguments, f"/{'n' * 5000}/{name}")

        assert (answer.status, answer.err.count("\n")) == (2, 1), arguments


def test_inputs_of_a_pipe_are_answered_while_its_writer_goes_on(tangram: Any, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with open(writer, "w") as file:
        for _ in range(2):
            file.write(json.dumps({"nodes": [], "claims": []}) + "\n")

    answer = tangram("bench", "--json", "--input", f"/dev/fd/{reader}")
    os.close(reader)

    assert answer.status == 0
    assert len(answer.out.splitlines()) == 2


def test_a_standard_input_that_is_closed_is_one_message(
    tangram: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)

    answer = tangram("bench", "--input", "-")

    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert "is closed" in answer.err
