"""Every example of every ``--help`` is run as printed, or the reason why not stands here."""

from __future__ import annotations

import argparse
import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tangram.__main__ import parser_for
from tangram.face import DOES_NOT_FIT, DONE
from tangram.loading import SUBCOMMANDS
from tangram.program.throwaway import throwaway_folder

Command = Callable[..., Any]
ROOT = Path(__file__).parents[2]
NOT_RUN = {
    r"--cluster|^pending|pod/|claim/|^serve|--kubeconfig": "needs an API server: tests/cluster",
    r"^(kubectl|for this shell|source)": "is another program's",
    r"^bench": "takes seconds: test_bench.py, test_bench_input.py",
    r"^conformance": "runs all cases: test_conformance.py",
    r"all\.yaml|slices\.yaml": "reads a file of the user's: the tests of report and top",
    r"^doctor --simulated": "needs the folders of a running plugin: tests/tangram/doctor",
}


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in dict.fromkeys(action.choices.values()):
                yield from parsers(below)


def examples(parser: argparse.ArgumentParser) -> list[str]:
    """Return the commands that a help prints below ``example:``."""
    text = (parser.epilog or "").replace("\\\n", " ")
    _, _, below = text.partition("example:") if "example:" in text else text.partition("examples:")
    printed = below.partition("\n\n")[0].splitlines()
    return [line.strip() for line in printed if line.startswith("  ") and not line.rstrip().endswith(":")]


HELPS = {
    found.prog: examples(found)
    for name in sorted(SUBCOMMANDS)
    for found in parsers(parser_for([name]))
    if found.prog.startswith(f"tangram {name}")
}


def why_not(line: str) -> str | None:
    bare = line.removeprefix("tangram ")
    return next((reason for pattern, reason in NOT_RUN.items() if re.search(pattern, bare)), None)


@pytest.fixture
def memory() -> Iterator[Path]:
    """Return a folder in memory: a machine is some thousands of files."""
    with throwaway_folder() as folder:
        yield folder


@pytest.mark.parametrize("prog", HELPS)
def test_every_help_has_an_example(prog: str) -> None:
    assert HELPS[prog]
    assert all(line.startswith("tangram ") or why_not(line) for line in HELPS[prog])


@pytest.mark.parametrize("prog", [prog for prog, lines in HELPS.items() if not all(map(why_not, lines))])
def test_the_examples_run_as_printed(
    prog: str, tangram: Command, tmp_path: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("deploy", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)

    for line in HELPS[prog]:
        if why_not(line):
            continue
        words = shlex.split(line.replace("/tmp/m", f"{memory}/m"), comments=True)
        for part in " ".join(map(shlex.quote, words)).split(" '|' "):
            arguments, _, written = part.partition(" '>' ")
            answer = tangram(*shlex.split(arguments)[1:])
            assert answer.status in (DONE, DOES_NOT_FIT), f"{line}: {answer.err}"
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(answer.out.encode())))
            if written and not written.startswith("'~"):
                Path(shlex.split(written)[0]).write_text(answer.out)


def test_each_reason_is_still_needed() -> None:
    lines = [line.removeprefix("tangram ") for found in HELPS.values() for line in found]

    assert [one for one in NOT_RUN if not any(re.search(one, line) for line in lines)] == []
