"""The parser of the plugin's command line. Nothing is opened, read or made here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from agent.hardware import machine_options
from agent.inventory import table_files
from agent.inventory.describe import DEFAULT_DRIVER
from agent.inventory.fabric import imex
from agent.inventory.options import mode_option, split_option
from agent.inventory.vfs import option as vf_option

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
  1  it could not start: a folder cannot be written, another process uses its sockets, a GPU fails.
     A missing driver is no failure: the plugin checks for it again at every claim.
  2  wrong options; nothing was created
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
    probe_socket = "answer /healthz on this unix socket, for a liveness probe of this plugin"
    found.add_argument("--probe-socket", type=Path, metavar="FILE", help=probe_socket)
    machine_options.add_options(found)
    table_files.add_options(found)
    mode_option.add_option(found)
    imex.add_option(found)
    vf_option.add_option(found)
    split_option.add_option(found)
    return found


def _add_claims(found: argparse.ArgumentParser) -> None:
    group = found.add_argument_group(
        "source of the claims", "default: the API server, as this pod's service account"
    )
    add = group.add_mutually_exclusive_group().add_argument
    add("--kubeconfig", type=Path, metavar="FILE", help="the API server of this kubeconfig")
    add("--claims", type=Path, metavar="DIR", help="folder of ResourceClaims as YAML files; no API server")


def _add_names(found: argparse.ArgumentParser) -> None:
    add = found.add_argument
    add("--driver-name", default=DEFAULT_DRIVER, metavar="NAME", help="default: %(default)s")
    node = "name of the node and of the pool; default: the host's, or the simulated machine's"
    add("--node-name", metavar="NAME", help=node)
    pod = "part of the sockets' names, so that two versions can run during a rolling update"
    add("--pod-uid", metavar="UID", help=pod)
    metadata = "give containers a file with the facts of their devices, for each request (KEP-5304)"
    add("--device-metadata", action="store_true", help=metadata)


def _add_places(found: argparse.ArgumentParser) -> None:
    add = found.add_argument
    add("--kubelet-dir", type=Path, default="/var/lib/kubelet", metavar="DIR", help="default: %(default)s")
    add("--cdi-dir", type=Path, default="/var/run/cdi", metavar="DIR", help="default: %(default)s")
