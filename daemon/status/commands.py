"""``tangram PROGRAM status`` and ``tangram PROGRAM log-level``: ask a running program over its socket."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from daemon.command_line import DONE, FAILED, WRONG_OPTIONS
from daemon.logs import LEVELS
from daemon.status.asking import LOG_LEVEL, OK, STATUS, STATUS_JSON, ask

COMMANDS: Final = ("status", "log-level")
_EXAMPLES: Final = """examples:
  on the node, or in a container that has the socket:
    tangram {program} {command}
  in a pod:
    kubectl --namespace tangram-system exec POD --container {program} -- \\
        python3 -P -m {program} {command}

exit status:
  0  it answered
  1  it does not answer: it is not running, or has no --probe-socket there
  2  wrong options; nothing was changed
"""
_STATUS: Final = "Print what a running {program} knows: {known}. Nothing waits for hardware or locks."
_LEVEL: Final = "Print or set the level of the log of a running {program}. It holds until the program ends."


def run_control(program: str, known: str, socket: Path, argv: Sequence[str]) -> int:
    """Ask the program and return the exit status.

    Shape: ``known`` what its status has, for the help; ``socket`` where it listens if no option says it;
           ``argv`` begins with one of ``COMMANDS``.
    """
    command = argv[0]
    try:
        arguments = _parser(program, command, known, socket).parse_args(argv[1:])
    except SystemExit as end:  # argparse has printed the help, or what is wrong
        return int(end.code or DONE)
    if command == "status":
        asked, change = (STATUS_JSON if arguments.json else STATUS), None
    else:
        asked, change = LOG_LEVEL, arguments.level
    try:
        status, text = ask(str(arguments.socket), asked, change=change)
    except OSError as error:
        remedy = f"the {program} is not running, or --socket is not its --probe-socket"
        sys.stderr.write(f"tangram {program} {command}: ask {arguments.socket}: {error}; {remedy}\n")
        return FAILED
    if status != OK:
        sys.stderr.write(f"tangram {program} {command}: {text}")
        return FAILED if status != 400 else WRONG_OPTIONS
    sys.stdout.write(text)
    return DONE


def _parser(program: str, command: str, known: str, socket: Path) -> argparse.ArgumentParser:
    description = (_STATUS if command == "status" else _LEVEL).format(program=program, known=known)
    found = argparse.ArgumentParser(
        prog=f"tangram {program} {command}",
        description=description,
        epilog=_EXAMPLES.format(program=program, command=command),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    where = "the --probe-socket of the running program; default: %(default)s"
    found.add_argument("--socket", type=Path, default=socket, metavar="FILE", help=where)
    if command == "status":
        found.add_argument("--json", action="store_true", help="print one JSON value, for machines")
    else:
        text = f"one of {', '.join(LEVELS)}; without it: print the level as it is"
        found.add_argument("level", nargs="?", choices=LEVELS, metavar="LEVEL", help=text)
    return found
