"""Every type that text is read into is built when its module is imported, by one thread.

msgspec 0.22 builds a type at its first use, and a second thread that comes meanwhile reads a half-built one:
the process ends with signal 11. Decision 0088.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("scheduler_core", "kube_api", "daemon", "agent", "plugin", "controller", "tangram")

FIRST_READS = """
import sys, threading
from plugin.claim import record_format
from plugin.claim.record_format import Corrupt

CLAIM = b'{"claim_uid":"u","namespace":"n","name":"m","boot_id":"b","devices":[]}'
sys.setswitchinterval(1e-6)
gate = threading.Barrier(8)

def read():
    gate.wait()
    try:
        record_format._record(CLAIM, 1, "u")
    except Corrupt:
        pass

threads = [threading.Thread(target=read) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            if "msgspec" in text:
                yield str(path.relative_to(ROOT)), ast.parse(text)


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def name(node: ast.expr) -> str:
    """Return the name of a call of msgspec, such as ``msgspec.json.Decoder``; empty for any other."""
    said = ast.unparse(node)
    return said if said.startswith("msgspec.") else ""


def in_functions(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield from calls(node)


def built(tree: ast.Module) -> set[str]:
    """Return the types that a module builds at its import."""
    late = {id(one) for one in in_functions(tree)}
    return {
        ast.unparse(call.args[0])
        for call in calls(tree)
        if name(call.func).endswith(".Decoder") and call.args and id(call) not in late
    }


def late_reads(tree: ast.Module) -> Iterator[str]:
    """Return the calls that would build a type when a thread comes first to them."""
    ready = built(tree)
    for call in in_functions(tree):
        what = name(call.func)
        types = [ast.unparse(one.value) for one in call.keywords if one.arg == "type"]
        if what.endswith(".convert"):
            types += [ast.unparse(call.args[1])]
        if what.endswith(".Decoder") and call.args:
            yield ast.unparse(call)
        if what.endswith((".decode", ".convert")):
            yield from (ast.unparse(call) for one in types if one not in {"str", *ready})


def test_no_function_builds_a_type() -> None:
    found = {place: late for place, tree in modules() if (late := list(late_reads(tree)))}

    assert found == {}


@pytest.mark.parametrize(
    "late",
    [
        "def read(data):\n    return msgspec.json.decode(data, type=Record)",
        "def read(data):\n    return msgspec.msgpack.Decoder(Record).decode(data)",
        "def read(data):\n    return msgspec.convert(data, Record)",
        "read = lambda data: msgspec.json.decode(data, type=Record)",
    ],
)
def test_the_rule_finds_a_type_that_is_built_late(late: str) -> None:
    assert list(late_reads(ast.parse(late)))


def test_threads_that_come_first_and_together_read_a_record() -> None:
    for _ in range(5):
        command = [sys.executable, "-c", FIRST_READS]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)

        assert ended.returncode == 0, ended.stderr.decode()
