"""Asks the agent in the same pod: ``python3 -m agent.probe SOCKET PATH``. See ``daemon.probe``."""

from __future__ import annotations

import sys

from daemon import probe


def main(argv: list[str]) -> int:
    """Print what the agent answers and return the exit status."""
    return probe.main("agent", argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
