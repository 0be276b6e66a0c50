"""Run while the image is built: does the base have what the programs need?

Nothing enters but the base itself; the build ends with one message where it lacks something.
"""

import ctypes
import os
import sys
from importlib import import_module
from pkgutil import walk_packages


def _main() -> None:
    if sys.version_info[:2] != (3, 11):
        _end(f"Python {sys.version.split()[0]}", "Python 3.11, which the copied packages are built for")
    try:
        ctypes.CDLL("libudev.so.1")
    except OSError as error:
        _end(f"no libudev ({error})", "libudev.so.1, through which the agent hears of devices")
    if not os.access("/bin/sh", os.X_OK):
        _end("no /bin/sh", "one for the plugin's readiness probe")
    try:
        for package in ("scheduler_core", "kube_api", "daemon", "agent", "plugin", "controller", "tangram"):
            # Every module, so that no package is missing that only some command needs.
            for module in walk_packages(import_module(package).__path__, f"{package}."):
                import_module(module.name)
    except ImportError as error:
        _end(f"packages that do not load ({error})", "glibc 2.28 or newer and the context's architecture")


def _end(found: str, needed: str) -> None:
    sys.exit(f"build the image: the base has {found} and needs {needed}: name another base with BASE")


_main()
