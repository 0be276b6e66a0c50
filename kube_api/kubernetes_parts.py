"""The parts of the ``kubernetes`` package that a program in a pod needs, loaded without the rest of it.

The package's start loads its informers, watches and streams, and what logins by OpenID need: 20 MiB and half
a second of every agent and plugin, and nothing of it is used there. A kubeconfig needs the logins: its loader
comes from the whole package, when a kubeconfig is read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

_PACKAGES: Final = ("kubernetes", "kubernetes.config", "kubernetes.utils")


@contextmanager
def _without_their_start() -> Iterator[None]:
    """Let modules of these packages be loaded for the length of a block, without the packages themselves.

    Afterwards the packages count as not loaded: who imports them gets them whole, with these same modules.
    """
    found = find_spec("kubernetes")
    if found is None or found.submodule_search_locations is None or "kubernetes" in sys.modules:
        yield
        return
    folder = Path(next(iter(found.submodule_search_locations))).parent
    for name in _PACKAGES:
        stand_in = ModuleType(name)
        stand_in.__path__ = [str(folder.joinpath(*name.split(".")))]
        sys.modules[name] = stand_in
    try:
        yield
    finally:
        for name in _PACKAGES:
            del sys.modules[name]


with _without_their_start():
    from kubernetes.client.configuration import Configuration
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config.config_exception import ConfigException
    from kubernetes.config.incluster_config import (
        SERVICE_HOST_ENV_NAME,
        SERVICE_PORT_ENV_NAME,
        InClusterConfigLoader,
    )
    from kubernetes.utils.keepalive import tcp_keepalive_socket_options

__all__ = [
    "SERVICE_HOST_ENV_NAME",
    "SERVICE_PORT_ENV_NAME",
    "ConfigException",
    "Configuration",
    "InClusterConfigLoader",
    "RESTClientObject",
    "tcp_keepalive_socket_options",
]
