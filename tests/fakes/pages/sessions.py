"""Run the commands of a page as they are printed, and compare what they print with the page.

All blocks of a page run one after the other in one folder that looks like a clone. In a ``console`` block a
line of three dots stands for any lines, and an ellipsis character in a line for any text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pages import ROOT
from pages.blocks import Block

_END: Final = "== end of command =="
_REST: Final = "..."
_LIMIT_S: Final = 110


class PageDiffers(AssertionError):
    """A command of a page failed, or printed something else than the page says."""


@dataclass(frozen=True)
class Exchange:
    """One command of a session with what the page says it prints, line by line."""

    command: str
    output: tuple[str, ...]


# Of the run of the tests: under make, MAKEFLAGS has a make that is called say which folder it enters.
_OF_THE_TESTS: Final = ("PYTEST", "TANGRAM", "MAKE", "MFLAGS", "FORCE_COLOR")


@dataclass
class Shell:
    """A folder like a clone, and the environment of the commands in it."""

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)
    limit_s: float = _LIMIT_S

    def put(self, name: str, script: str) -> None:
        """Put a program in front of those of the same name."""
        path = self.folder / ".programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script of the shell; standard error comes with standard output, as on a terminal."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_THE_TESTS)}
        first = (self.folder / ".programs", Path(sys.executable).parent)
        own = {
            "PATH": ":".join((*map(str, first), os.environ["PATH"])),
            "HOME": str(self.folder),
            "COLUMNS": "100",
            "NO_COLOR": "1",
        }
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env={**kept, **own, **self.variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=self.limit_s,
            check=False,
        )


@contextmanager
def clone() -> Iterator[Shell]:
    """Make a folder that shows the project as a clone does, and that commands may write into."""
    with TemporaryDirectory(prefix="page-", dir="/tmp") as name:
        folder = Path(name)
        for entry in ROOT.iterdir():
            if entry.name not in {".git", ".hypothesis"}:
                (folder / entry.name).symlink_to(entry)
        shell = Shell(folder)
        # An old .venv is not installed anew from here: its programs would name this folder.
        shell.put("make", f'exec {shutil.which("make")} --old-file=.venv/.ready "$@"')
        yield shell


def exchanges(session: str) -> tuple[Exchange, ...]:
    """Return the commands of a ``console`` block with their outputs; ``>`` goes on with a command."""
    found: list[tuple[list[str], list[str]]] = []
    for line in session.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and found and not found[-1][1]:
            found[-1][0].append(line[2:])
        elif found:
            found[-1][1].append(line)
        else:
            raise PageDiffers(f"a session begins with a command, not with {line!r}")
    return tuple(Exchange("\n".join(command), tuple(output)) for command, output in found)


def outputs(commands: tuple[Exchange, ...], shell: Shell) -> tuple[tuple[str, ...], ...]:
    """Run the commands of a session in one shell; return the lines that each prints."""
    script = "".join(f"{one.command}\nprintf '\\n%s\\n' '{_END}'\n" for one in commands)
    printed = shell.run(script).stdout.split(f"\n{_END}\n")
    if len(printed) != len(commands) + 1 or printed[-1]:
        raise PageDiffers(f"the shell ended early: {printed[-1]}")
    return tuple(tuple(line.rstrip() for line in one.rstrip("\n").splitlines()) for one in printed[:-1])


def agrees(expected: tuple[str, ...], actual: tuple[str, ...]) -> bool:
    """Return whether what a page says of an output is so."""
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line.strip() == _REST else f"{_line_pattern(line)}\n" for line in expected
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in actual)) is not None


def _line_pattern(line: str) -> str:
    return "[^\n]*?".join(re.escape(part) for part in line.rstrip().split("…"))


def check(block: Block, shell: Shell) -> None:
    """Run a block. Raises: PageDiffers with what the commands printed."""
    if block.language == "sh":
        done = shell.run(f"set -euo pipefail\n{block.text}")
        if done.returncode:
            raise PageDiffers(f"line {block.line}: exit status {done.returncode}:\n{done.stdout}")
        return
    commands = exchanges(block.text)
    for command, printed in zip(commands, outputs(commands, shell), strict=True):
        if not agrees(command.output, printed):
            text = "\n".join(printed)
            raise PageDiffers(f"line {block.line}: {command.command}\nprints:\n{text}")


def written_anew(block: Block, shell: Shell) -> str:
    """Run a block; return its text with the outputs that are as they are now."""
    if block.language == "sh":
        check(block, shell)
        return block.text
    commands = exchanges(block.text)
    lines: list[str] = []
    for command, printed in zip(commands, outputs(commands, shell), strict=True):
        lines += [f"$ {command.command}".replace("\n", "\n> ")]
        lines += command.output if agrees(command.output, printed) else printed
    return "\n".join(lines) + "\n"
