"""The command line of the plugin: texts to values. Nothing is opened, read or made here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from agent.hardware import machine_options
from agent.inventory import table_files
from agent.inventory.describe import DEFAULT_DRIVER

_EXAMPLES: Final = """examples:
  in a pod of the DaemonSet, claims from the API server:
    tangram plugin --node-name $(NODE_NAME) --pod-uid $(POD_UID) --host-root /host
  as a process on a node, claims from the API server:
    tangram plugin --kubeconfig /etc/kubernetes/kubelet.conf
  a simulated DGX A100 without a cluster, everything below one folder:
    tangram plugin --simulated dgx-a100 --machine /tmp/t/machine --claims /tmp/t/claims \\
                   --kubelet-dir /tmp/t/kubelet --cdi-dir /tmp/t/cdi

exit status:
  0  it served until SIGTERM or SIGINT
  1  it could not start, or the machine refused: a folder that cannot be written, another process on its
     sockets, a GPU that fails. A node without a driver is no failure: it is looked for again.
  2  wrong options; nothing was made
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of ``tangram plugin``."""
    found = argparse.ArgumentParser(
        prog="tangram plugin",
        description="Prepare the devices of allocated claims on this node, as the kubelet asks.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_claims(found)
    _add_names(found)
    _add_places(found)
    machine_options.add_options(found)
    table_files.add_options(found)
    return found


def _add_claims(found: argparse.ArgumentParser) -> None:
    group = found.add_argument_group(
        "where claims come from", "the API server as this pod's service account, where neither is given"
    )
    add = group.add_mutually_exclusive_group().add_argument
    add("--kubeconfig", type=Path, metavar="FILE", help="the API server that this file names")
    add("--claims", type=Path, metavar="DIR", help="folder of ResourceClaims as YAML files; no API server")


def _add_names(found: argparse.ArgumentParser) -> None:
    add = found.add_argument
    add("--driver-name", default=DEFAULT_DRIVER, metavar="NAME", help="default: %(default)s")
    add("--node-name", metavar="NAME", help="also the pool's name; default: the host's or simulated name")
    add("--pod-uid", metavar="UID", help="gives the sockets names of their own, for rolling updates")


def _add_places(found: argparse.ArgumentParser) -> None:
    add = found.add_argument
    add("--kubelet-dir", type=Path, default="/var/lib/kubelet", metavar="DIR", help="default: %(default)s")
    add("--cdi-dir", type=Path, default="/var/run/cdi", metavar="DIR", help="default: %(default)s")
