"""Asks the plugin in the same pod: ``python3 -m plugin.probe SOCKET PATH``. See ``daemon.probe``."""

from __future__ import annotations

import sys

from daemon import probe


def main(argv: list[str]) -> int:
    """Print what the plugin answers and return the exit status."""
    return probe.main("plugin", argv)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
