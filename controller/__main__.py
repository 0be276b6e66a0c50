"""The controller as a program: reads the options, watches, decides and writes until a signal comes.

Exit status: 0 after a signal, 1 if it could not start, 2 for wrong options (one message on standard error,
nothing changed).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

import daemon.early_end  # noqa: F401 - first, since what follows takes long to load
from controller.api import Unreachable
from controller.assembly import Program
from controller.election.ports import LeaseError
from controller.options import read_options
from daemon.command_line import DONE, FAILED, WRONG_OPTIONS, InvalidOption, refuse
from daemon.logs import log_to_standard_error
from daemon.signals import on_end

_PROGRAM: Final = "tangram controller"


def main(argv: Sequence[str] | None = None) -> int:
    """Decide until SIGTERM or SIGINT and return the exit status."""
    try:
        options = read_options(argv)
    except SystemExit as end:  # argparse has printed the help, or what is wrong
        return int(end.code or DONE)
    except InvalidOption as error:
        return refuse(_PROGRAM, error, WRONG_OPTIONS)
    log_to_standard_error(options.log)
    try:
        with ExitStack() as opened:
            program = Program(options, opened)
            on_end(program.stop)
            program.run()
    except (Unreachable, LeaseError, OSError) as error:
        return refuse(_PROGRAM, error, FAILED)
    return DONE


if __name__ == "__main__":
    sys.exit(main())
