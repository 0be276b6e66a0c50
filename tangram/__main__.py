"""The ``tangram`` command: hands machines, clusters and the output to a subcommand and runs it.

Exit status: 0 done, 1 it does not fit, 2 wrong input (one message on standard error, nothing changed), 3 the
API server cannot be reached, 4 undecided (the search reached its bound of steps). With ``--json`` or ``-o`` a
message is a JSON object on standard error; standard output has the answer or nothing.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from itertools import pairwise
from typing import Final, NoReturn

from tangram.errors import BadInput, Unreachable
from tangram.face import DONE, PROGRAMS_FORMS, UNREACHABLE, WRONG_INPUT, Parser
from tangram.loading import face, is_expected, program, subcommand
from tangram.program.completion import ASKED, complete, for_kubectl
from tangram.program.streams import ASCII_FORMS, fail, messages_as
from tangram.program.throwaway import clean_end
from tangram.summaries import SUMMARIES

_INTERRUPTED: Final = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; never raises for what a user can get wrong."""
    if argv is None:  # the process ends with this: what is left needs no search for garbage
        atexit.register(gc.freeze)
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["--"]:
        del arguments[0]
    if ASKED in os.environ:
        return complete(parser_for)
    run_program = program(arguments[0]) if arguments else None
    if run_program is not None:
        return run_program(arguments[1:])
    with messages_as(json=_asks_for_json(arguments)):
        try:
            return _run(arguments)
        except BrokenPipeError:
            _discard_output()
            return DONE
        except KeyboardInterrupt:
            return _INTERRUPTED
        except Exception as error:
            if not is_expected(error):
                raise
            return fail(_line_of(error), UNREACHABLE if isinstance(error, Unreachable) else WRONG_INPUT)


def kubectl_completion() -> int:
    """Run as ``kubectl_complete-tangram``, which kubectl asks what can follow ``kubectl tangram``."""
    return for_kubectl(parser_for, sys.argv[1:] or [""])


def _asks_for_json(arguments: Sequence[str]) -> bool:
    """Whether an answer for programs is asked for, also where the arguments cannot be parsed."""
    named = pairwise(arguments)
    joined = {f"{option}{form}" for option in ("-o", "--output=") for form in PROGRAMS_FORMS}
    return (
        "--json" in arguments
        or any(option in ("-o", "--output") and form in PROGRAMS_FORMS for option, form in named)
        or not joined.isdisjoint(arguments)
    )


def _run(arguments: Sequence[str]) -> int:
    if sys.stdout is None:
        raise BadInput("standard output is closed: the answer cannot be written")
    if isinstance(sys.stdout, TextIOWrapper):  # write other characters where a terminal cannot show ours
        sys.stdout.reconfigure(errors=ASCII_FORMS)
    try:
        options = parser_for(arguments[:1]).parse_args(arguments)
    except SystemExit as end:  # --help and --version have printed and are done
        return int(end.code or DONE)
    with clean_end():
        status: int = options.command(options, face(options.output))
    sys.stdout.flush()
    return status


def parser_for(used: Sequence[str]) -> Parser:
    """Return the parser, with the options of the subcommand that is used and the summaries of the others."""
    parser = Parser(
        prog="tangram",
        description="Show, plan and explain which GPUs and NICs pods get, and run the driver's programs.",
        epilog="example:\n  tangram demo --node dgx-a100",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, summary in SUMMARIES.items():
        add = subcommand(name) if name in used else None
        if add is not None:
            add(parsers)
        else:
            parsers.add_parser(name, help=summary)
    return parser


class _Version(argparse.Action):
    """Prints the version; only then the package's metadata is looked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version  # noqa: PLC0415

        print(f"tangram {version('tangram-dra')}")
        parser.exit()


def _line_of(error: BaseException) -> str:
    """Return the one line that a user reads."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


def _discard_output() -> None:
    """Discard what is still to be written: the reader of our output has closed it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
