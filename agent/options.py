"""The options of the agent, checked once: a value of this type can be worked with.

Texts and paths of a command line enter; a value or one message leaves. Nothing is opened or made here.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent.inventory import table_files
from agent.inventory.describe import DEFAULT_DRIVER
from scheduler_core.base.errors import message
from scheduler_core.base.limits import DOMAIN_LENGTH
from scheduler_core.model.names import DRIVER_RULE, is_driver

_EXAMPLES: Final = """examples:
  in a DaemonSet, with the service account of its pod:
    tangram agent --node-name $(NODE_NAME) --metrics-address 127.0.0.1:9464
  outside, for a simulated machine on a node object of that name:
    tangram agent --kubeconfig ~/.kube/config --node-name node-a \\
                  --simulated dgx-a100 --machine /tmp/t/machine

Slices stay in place when the agent ends: running pods and new ones do not depend on it. They go with
their Node object.

exit status:
  0  it published until SIGTERM or SIGINT
  1  it could not start: no way to an API server, or a machine that cannot be opened
  2  wrong options; nothing was made
"""


class InvalidOptions(Exception):
    """An option that somebody must change."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Shape: an empty ``host`` means every address of the machine."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """Read ``HOST:PORT`` or ``:PORT``. Raises: InvalidOptions."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            rule = "must be HOST:PORT or :PORT, such as 127.0.0.1:9464"
            raise InvalidOptions(message("--metrics-address", "", text, rule))
        return cls(host.strip("[]"), int(port))


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """For whom the agent publishes, and how.

    Shape: ``kubeconfig`` and ``context`` None for the usual ones, else the pod's service account;
           ``simulated`` and ``machine`` both or neither; ``metrics`` and ``probe_socket`` None where
           nobody asks;
           ``partitions`` and ``partition_policy`` as ``inventory.table_files`` reads them.
    Units: ``resync_s`` seconds.
    Raises: InvalidOptions naming the option, the value and the rule.
    """

    driver_name: str
    node_name: str
    kubeconfig: Path | None = None
    context: str | None = None
    simulated: str | None = None
    machine: Path | None = None
    host_root: Path = Path("/")
    driver_root: Path = Path("/")
    metrics: Address | None = None
    probe_socket: Path | None = None
    resync_s: float = 300.0
    composite: bool = True
    partitions: str | None = None
    partition_policy: str | None = None

    def __post_init__(self) -> None:
        _require(is_driver(self.driver_name), "--driver-name", self.driver_name, DRIVER_RULE)
        rule = f"must be a lower-case DNS subdomain of at most {DOMAIN_LENGTH} characters"
        _require(is_driver(self.node_name), "--node-name", self.node_name, rule)
        both = (self.simulated is None) == (self.machine is None)
        _require(both, "--simulated and --machine", None, "each needs the other")
        _require(self.resync_s >= 1, "--resync", self.resync_s, "must be at least 1 second")


def _require(holds: bool, option: str, value: object, rule: str) -> None:
    if not holds:
        raise InvalidOptions(message(option, "", value, rule))


def read_options(argv: Sequence[str] | None) -> Options:
    """Read a command line. Raises: InvalidOptions; SystemExit after --help and for unknown options."""
    given = parser().parse_args(argv)
    return Options(
        driver_name=given.driver_name,
        node_name=given.node_name or socket.gethostname().lower(),
        kubeconfig=given.kubeconfig,
        context=given.context,
        simulated=given.simulated,
        machine=given.machine,
        host_root=given.host_root.absolute(),
        driver_root=given.driver_root,
        metrics=None if given.metrics_address is None else Address.parse(given.metrics_address),
        probe_socket=given.probe_socket,
        resync_s=given.resync,
        composite=not given.no_composite,
        partitions=given.partitions,
        partition_policy=given.partition_policy,
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``tangram agent``."""
    made = argparse.ArgumentParser(
        prog="tangram agent",
        description="Publish the devices of this node as ResourceSlices, and keep them published.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = made.add_argument
    add("--node-name", metavar="NAME", help="name of the Node object and the pool; default: the host's")
    add("--driver-name", default=DEFAULT_DRIVER, metavar="NAME", help="default: %(default)s")
    add("--kubeconfig", type=Path, metavar="FILE", help="default: $KUBECONFIG, else the service account")
    add("--context", metavar="NAME", help="the context of the kubeconfig; default: its current one")
    add("--simulated", metavar="NODE", help="a shipped machine or a node file instead of this one")
    add("--machine", type=Path, metavar="DIR", help="folder of the simulated machine, made where missing")
    _add_roots(made)
    listens = "serve /metrics, /healthz and /readyz there; default: nowhere"
    add("--metrics-address", metavar="HOST:PORT", help=listens)
    probed = "answer there too, on a unix socket: for probes of this agent and of no other on the host"
    add("--probe-socket", type=Path, metavar="FILE", help=probed)
    slow = "look at the machine again this often without an event; default: %(default)g"
    add("--resync", type=float, default=300.0, metavar="SECONDS", help=slow)
    without = "publish no CompositeResourceSlices beside the ResourceSlices"
    add("--no-composite", action="store_true", help=without)
    table_files.add_options(made)
    return made


def _add_roots(made: argparse.ArgumentParser) -> None:
    host = "where the host's file system is mounted here; default: %(default)s"
    made.add_argument("--host-root", type=Path, default=Path("/"), metavar="DIR", help=host)
    driver = "where the driver is installed, as the host names it; default: %(default)s"
    made.add_argument("--driver-root", type=Path, default=Path("/"), metavar="DIR", help=driver)
