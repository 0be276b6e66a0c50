"""The agent as a program: options to adapters, then publish until a signal comes.

Exit status: 0 after a signal, 1 where it cannot start, 2 for wrong options (one message on standard
error, nothing made). The only place of the agent that names adapters.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from agent.options import InvalidOptions, read_options


def main(argv: Sequence[str] | None = None) -> int:
    """Publish until SIGTERM or SIGINT and return the exit status."""
    try:
        read_options(argv)
    except SystemExit as end:
        return int(end.code or 0)
    except InvalidOptions as error:
        sys.stderr.write(f"tangram agent: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
