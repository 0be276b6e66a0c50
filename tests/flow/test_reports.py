"""Faults that reviews and public reports found: each folder of ``tests/data/reports`` has the right answer.

A case names its command, run by bash in the project's root with ``$CASE`` as its folder, and what its output
must and must not have. A situation that no command can build names the test that holds its answer instead.
``open: true`` marks a case that is not yet right.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/data/reports"
PROGRAMS = Path(sys.executable).parent


def cases() -> list[Any]:
    read = [
        (folder, yaml.safe_load((folder / "case.yaml").read_text())) for folder in sorted(FOLDER.iterdir())
    ]
    return [
        pytest.param(
            folder,
            case,
            id=folder.name,
            marks=[pytest.mark.xfail(strict=True, reason=f"open: {case['title']}")]
            if case.get("open")
            else [],
        )
        for folder, case in read
    ]


@pytest.mark.parametrize(("folder", "case"), cases())
def test_the_case_is_answered_right(folder: Path, case: dict[str, Any]):
    if test := case.get("test"):
        file, _, name = test.partition("::")
        assert name in functions_of(ROOT / file), f"{folder.name} names {test}, which does not exist"
        return
    assert {"right_status", "right_match", "right_absent"} & case.keys(), "nothing to judge: name a test"

    done = subprocess.run(
        ["bash", "-c", case["command"].replace(".venv/bin/", f"{PROGRAMS}/")],
        cwd=ROOT,
        env={**os.environ, "CASE": str(folder)},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )

    output = done.stdout + done.stderr
    status = case.get("right_status", done.returncode)
    assert done.returncode in (status if isinstance(status, list) else [status]), output
    for expression in case.get("right_match", []):
        assert re.search(expression, output, re.MULTILINE), f"no {expression!r} in\n{output}"
    for expression in case.get("right_absent", []):
        assert not re.search(expression, output, re.MULTILINE), f"{expression!r} is in\n{output}"


def functions_of(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
