"""Write the reference of the commands into ``docs/cli.md``, from the parsers that the programs use.

``hack/cli_page.py`` writes what stands between the two markers of the page; ``--check`` changes nothing and
fails where the page says something else.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import agent.options
import controller.options
import plugin.arguments
from tangram.__main__ import parser_for
from tangram.summaries import SUMMARIES

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
BEGIN: Final = "<!-- commands: written by make cli-page -->\n"
END: Final = "<!-- /commands -->"
PROGRAMS: Final = {
    "agent": agent.options.parser,
    "plugin": plugin.arguments.parser,
    "plugin release": plugin.arguments.release_parser,
    "plugin clean": plugin.arguments.clean_parser,
    "controller": controller.options.parser,
}
_WIDTH: Final = "100"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it with ``--check``; return 1 where it differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the page differs")
    check = parser.parse_args(arguments).check
    page = PAGE.read_text(encoding="utf-8")
    wanted = with_commands(page)
    if not check:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if page != wanted:
        print(f"{PAGE}: differs from the parsers; run make cli-page and commit it", file=sys.stderr)
    return int(page != wanted)


def with_commands(page: str) -> str:
    """Return a page with the commands between its markers. Raises: ValueError where it lacks them."""
    before, opening, rest = page.partition(BEGIN)
    _, closing, after = rest.partition(END)
    if not opening or not closing:
        raise ValueError(f"the page has no {BEGIN.strip()} with {END} behind it")
    os.environ["COLUMNS"] = _WIDTH  # argparse asks for the width of the terminal
    sections = "\n".join(line for name in SUMMARIES for one in parsers(name) for line in section(one))
    return before + opening + sections + "\n" + closing + after


def parsers(name: str) -> Iterator[argparse.ArgumentParser]:
    """Yield the parser of a command, then those of its own commands."""
    programs = [made() for program, made in PROGRAMS.items() if program.partition(" ")[0] == name]
    if programs:
        yield from programs
        return
    choices = _below(parser_for([name]))
    yield from _all(choices[name])


def section(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines of one command: its name as a heading, then its help as it prints it."""
    yield f"## {parser.prog}"
    yield ""
    yield "```text"
    yield from (line.rstrip() for line in parser.format_help().rstrip().splitlines())
    yield "```"
    yield ""


def _all(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for one in _below(parser).values():
        yield from _all(one)


def _below(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return {
        name: one
        for action in parser._actions  # argparse has no other way to its subparsers
        if isinstance(action, argparse._SubParsersAction)
        for name, one in action.choices.items()
    }


if __name__ == "__main__":
    sys.exit(main())
