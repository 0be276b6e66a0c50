"""The controller as a program: reads the options, watches, decides and writes until a signal comes.

Exit status: 0 after a signal, 1 if it could not start, 2 for wrong options (one message on standard error,
nothing changed). ``status`` or ``log-level`` as the first argument asks a running controller and ends.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import daemon.early_end  # noqa: F401 - first, since what follows takes long to load
from controller.api import Unreachable
from controller.assembly import Program
from controller.election.ports import LeaseError
from controller.options import read_options
from controller.status import KNOWN
from daemon.command_line import DONE, FAILED, WRONG_OPTIONS, InvalidOption, refuse
from daemon.logs import log_to_standard_error
from daemon.signals import on_end
from daemon.status.commands import COMMANDS, run_control
from daemon.status.on_signal import log_on_signal

_PROGRAM: Final = "tangram controller"
PROBE_SOCKET: Final = Path("/run/tangram/controller.sock")
"""Where the manifests have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Decide until SIGTERM or SIGINT and return the exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given and given[0] in COMMANDS:
        return run_control("controller", KNOWN, PROBE_SOCKET, given)
    try:
        options = read_options(given)
    except SystemExit as end:  # argparse has printed the help, or what is wrong
        return int(end.code or DONE)
    except InvalidOption as error:
        return refuse(_PROGRAM, error, WRONG_OPTIONS)
    log_to_standard_error(options.log)
    try:
        with ExitStack() as opened:
            program = Program(options, opened)
            on_end(program.stop)
            log_on_signal(program.state.status)
            program.run()
    except (Unreachable, LeaseError, OSError) as error:
        return refuse(_PROGRAM, error, FAILED)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
