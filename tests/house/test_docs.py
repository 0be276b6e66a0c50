"""Paths and modules that the documents name exist."""

import re

import pytest
from import_graph import ROOT, packages

from plugin.kinds.registry import KINDS

DOCUMENTS = sorted((*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"))
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.py)`")
MODULE = re.compile(rf"`((?:{'|'.join(packages())})(?:\.\w+)+)`")
ELSEWHERE = {"kubernetes/__init__.py", "tangram.dev"}
"""Paths of other distributions, and names that look like modules."""


def is_there(path):
    return any((ROOT / start / path).exists() for start in ("", *packages(), "scheduler_core/frontends"))


def is_module(name):
    """Whether a dotted name is a module, or something that a module has."""
    paths = [ROOT / "/".join(name.split(".")[:length]) for length in range(name.count(".") + 1, 0, -1)]
    found = next(path for path in paths if path.with_suffix(".py").exists() or path.is_dir())
    rest = name.split(".")[len(found.relative_to(ROOT).parts) :]
    return not rest or (found.with_suffix(".py").exists() and rest[0] in found.with_suffix(".py").read_text())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_and_modules_in_documents_exist(document):
    text = document.read_text()

    paths = {path for path in PATH.findall(text) if path not in ELSEWHERE and not is_there(path)}
    modules = {name for name in MODULE.findall(text) if name not in ELSEWHERE and not is_module(name)}
    assert (paths, modules) == (set(), set())


def test_the_table_of_kinds_has_every_row_of_the_registry_and_says_which_are_prepared():
    lines = (ROOT / "docs/kinds.md").read_text().splitlines()
    table = lines[
        lines.index("| kind | published | allocated | prepared | in a cluster | on real hardware |") :
    ]
    table = table[: table.index("")]  # other tables of the page have rows that begin alike
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table if line.startswith("| a")]

    told = {row[0]: row[3].partition(":")[0] for row in rows}

    assert told == {row.text: "yes" if row in KINDS.preparable else "no" for row in KINDS.rows}


def test_the_readme_claims_no_run_on_real_hardware_that_the_table_of_kinds_does_not_have():
    seen = {row[-1] for row in rows("docs/kinds.md", "| a") if len(row) == 6} - {"---"}
    claimed = {row[-1] for row in rows("README.md", "| ") if len(row) == 5}

    assert seen == {"no"}
    assert claimed == {"real hardware", "---", "not yet", "needs none"}


def rows(file, start):
    """Return the cells of the lines of a page that begin so, and of the line below a head."""
    lines = (ROOT / file).read_text().splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith((start, "|-"))
    ]


def test_the_tests_exist_that_prevent_failures_of_other_drivers():
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", (ROOT / "docs/failures.md").read_text())

    missing = [f"{file}::{name}" for file, name in named if f"def {name}(" not in read(file)]

    assert named
    assert missing == []


ISSUES = """
360 378 427 501 563 663 719 720 787 837 839 883 897 902 904 932 933 951 965 1008 1009 1018 1066 1076 1080 1092
1100 1144 1164 1218 1242 1259 1264 1278 1296 1326 1330 1334 1357 1380 1452 1455 1456 1458 1476 1480 213 337
kubernetes#138765 kubernetes#141433 kubernetes#141471 enhancements#4970 dra-example-driver#263 DCGM#276
dcgm-exporter#714 k8s-driver-manager#203
"""
"""Failures of NVIDIA's driver and of what is around it that users reported: each has a test, or a reason."""


def test_every_failure_that_is_known_of_nvidias_driver_has_a_row():
    page = (ROOT / "docs/failures.md").read_text()

    wanted = [issue if "#" in issue else f"#{issue}" for issue in ISSUES.split()]
    missing = [issue for issue in wanted if not re.search(rf"{issue}(?!\d)", page)]

    assert missing == []


def read(file):
    path = ROOT / file
    return path.read_text() if path.exists() else ""
