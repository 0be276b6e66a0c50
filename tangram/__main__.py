"""The ``tangram`` command: hands machines, clusters and the output to a subcommand and runs it.

Exit status: 0 done, 1 it does not fit, 2 wrong input (one message on standard error, nothing changed),
4 undecided (the search reached its bound of steps).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from agent.__main__ import main as agent_main
from agent.hardware.errors import HardwareError
from agent.hardware.open import SimulationError
from agent.hardware.ports import Machine
from daemon.command_line import InvalidOption
from plugin.__main__ import main as plugin_main
from plugin.assembly import assemble
from plugin.base.errors import PluginError
from plugin.claim.claim_directory import ClaimDirectory
from plugin.kubelet.server import Running, start
from plugin.options import Options
from scheduler_core.base.errors import CoreError
from tangram.api import connect, open_live
from tangram.commands import allocate, bench, classes, conformance, demo, explain, node, show, validate
from tangram.errors import BadInput, NoAnswer
from tangram.face import DONE, WRONG_INPUT, Face, Parser
from tangram.hardware import AllMachines
from tangram.output import ASCII_FORMS, Output, complain
from tangram.throwaway import clean_end

_EXPECTED: Final = (
    BadInput,
    CoreError,
    HardwareError,
    InvalidOption,
    NoAnswer,
    OSError,
    PluginError,
    SimulationError,
)
_INTERRUPTED: Final = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status; never raises for what a user can get wrong."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments[:1] == ["agent"]:
        return agent_main(arguments[1:])
    if arguments[:1] == ["plugin"]:
        return plugin_main(arguments[1:])
    try:
        return _run(arguments)
    except BrokenPipeError:
        _discard_output()
        return DONE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except _EXPECTED as error:
        complain(_line_of(error))
        return WRONG_INPUT


def _run(arguments: Sequence[str]) -> int:
    if sys.stdout is None:
        raise BadInput("standard output is closed: the answer cannot be written")
    if isinstance(sys.stdout, TextIOWrapper):  # write other characters where a terminal cannot show ours
        sys.stdout.reconfigure(errors=ASCII_FORMS)
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as end:  # --help and --version have printed and are done
        return int(end.code or DONE)
    with clean_end():
        status: int = options.command(options, Face(AllMachines(), Output(), serve, connect, open_live))
    sys.stdout.flush()
    return status


def _parser() -> Parser:
    parser = Parser(
        prog="tangram",
        description="Cut and combine the accelerators and NICs of a node.",
        epilog="example:\n  tangram demo --node dgx-a100",
    )
    parser.add_argument("--version", action="version", version=f"tangram {version('tangram-dra')}")
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (demo, show, allocate, validate, conformance, explain, classes, bench, node):
        command.add(parsers)
    parsers.add_parser("agent", help="publish this node's devices: tangram agent --help")
    parsers.add_parser("plugin", help="run the kubelet plugin: tangram plugin --help")
    return parser


def serve(machine: Machine, options: Options, claims: Path) -> Running:
    """Start the kubelet plugin on a machine, with claims from a folder."""
    driver = assemble(machine, options, clock=time.monotonic, sleep=time.sleep)
    return start(driver, ClaimDirectory(claims), options)


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
