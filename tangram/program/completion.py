"""Completes what is typed: commands, options, their values. The shells ask the program at each press of TAB.

The library argcomplete knows the shells; it finds what can follow in the parser that the words lead to.
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tangram.errors import BadInput

ASKED: Final = "_ARGCOMPLETE"
"""Is in the environment when a shell asks."""
SHELLS: Final = ("bash", "zsh", "fish")
_PROGRAMS: Final = ("tangram", "kubectl-tangram")
_NO_FILES, _FILES_TOO = ":4", ":0"  # directives of cobra, which kubectl hands to the shell

ParserOf = Callable[[Sequence[str]], argparse.ArgumentParser]


def shell_code(shell: str) -> str:
    """Return what a shell reads to complete the command."""
    from argcomplete.shell_integration import shellcode

    return str(shellcode(_PROGRAMS, shell=shell))


def complete(parser_of: ParserOf) -> int:
    """Answer the shell that asks by the environment.

    Shape: ``parser_of`` gives the parser for the words before the cursor, the program's name left out.
    """
    _answer(parser_of, None)
    return 0


def for_kubectl(parser_of: ParserOf, words: Sequence[str]) -> int:
    """Answer ``kubectl_complete-tangram``: kubectl gives the words, the last being the one to complete."""
    line = " ".join(["tangram", *map(shlex.quote, words[:-1]), *words[-1:]])
    os.environ |= {ASKED: "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": "\n"}
    found = io.StringIO()
    _answer(parser_of, found)
    names = [name.rstrip() for name in found.getvalue().split("\n") if name.strip()]
    print("\n".join([*names, _NO_FILES if names else _FILES_TOO]))
    return 0


class _Answered(Exception):
    """The library has written its answer."""


def _answer(parser_of: ParserOf, stream: io.StringIO | None) -> None:
    import argcomplete

    line = os.environ.get("COMP_LINE", "")
    words = line[: int(os.environ.get("COMP_POINT", len(line)))].split()

    def end(_status: int = 0) -> None:
        raise _Answered

    try:
        parser = parser_of(words[1:])
        argcomplete.autocomplete(
            parser, always_complete_options="long", exit_method=end, output_stream=stream
        )
    except (_Answered, BadInput):
        pass  # nothing can follow words that are wrong


def completes(action: argparse.Action, names: Callable[[], Iterable[str]]) -> None:
    """Say what values an option has; they are looked for when somebody asks."""
    action.completer = lambda **_: list(names())  # type: ignore[attr-defined]


def node_names() -> Iterable[str]:
    """Return the names of the shipped machines."""
    from tangram.hardware import AllMachines

    return AllMachines().names()
