"""A real Kubernetes on this machine: python hack/cluster tools|run|up [OPTION...]

``tools`` builds the pinned programs and prints their folders.
"""

from __future__ import annotations

import argparse
import sys
import time

from launcher.build import Builder, tools_folder
from launcher.errors import LauncherError
from launcher.toolset import VERSIONS, containerd, kubernetes


def say(text: str) -> None:
    """Tell people what goes on; the output itself stays free for what a command prints."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)


def _tools(options: argparse.Namespace) -> int:
    builder = Builder(folder=tools_folder(), say=say, clock=time.monotonic)
    sets = [containerd(), *(kubernetes(version) for version in options.versions or VERSIONS)]
    for toolset in sets:
        print(builder.programs(toolset), flush=True)
    return 0


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(prog="hack/cluster", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    tools = commands.add_parser("tools", help="build what is missing and print the folders")
    tools.add_argument("versions", nargs="*", metavar="VERSION", help=f"of Kubernetes: {', '.join(VERSIONS)}")
    tools.set_defaults(run=_tools)
    options = parser.parse_args()
    try:
        status: int = options.run(options)
    except LauncherError as error:
        say(str(error))
        return 1
    return status


if __name__ == "__main__":
    raise SystemExit(main())
