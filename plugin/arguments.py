"""The parser of the plugin's command line. Nothing is opened, read or made here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from agent import node_options
from agent.hardware import machine_options
from agent.inventory import table_files
from daemon import logs, metrics_options
from plugin.options import GRACE_S
from scheduler_core.model.names import DEFAULT_DRIVER

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


RELEASE: Final = "tangram plugin release"
_RELEASE: Final = """Release a claim whose record is damaged.

A claim whose record cannot be believed is in quarantine: it keeps its devices, no other claim gets them, and
nothing of it is undone. Its quarantine ends when its pod is deleted. Release it where that does not
help, once no container uses its devices any more. What sound lines of the record say is undone; the file
stays beside the others, its name ends with .corrupt. The plugin may run meanwhile."""
_RELEASE_EXAMPLES: Final = """examples:
  list the claims in quarantine, and why:
    tangram plugin release
  release one, on a node:
    tangram plugin release 0b7a0f6e-51f9-4a34-9f4a-5a3a2c2f7d11
  in a pod of the DaemonSet, with the places that the plugin of the pod was given:
    kubectl --namespace tangram-system exec POD --container plugin -- \\
        python3 -P -m plugin release 0b7a0f6e-51f9-4a34-9f4a-5a3a2c2f7d11 --host-root /host

exit status:
  0  it is released, or the list was printed
  1  it is not released yet: the hardware or the disk refused, or the claim is locked; repeat it
  2  wrong options, or the claim is not in quarantine; nothing was changed
"""

CLEAN: Final = "tangram plugin clean"
_CLEAN: Final = """Remove what Tangram keeps on this node, once it is uninstalled.

That is the plugin's folder below the kubelet's (names of GPUs, what is known of their health), the folder
of MPS daemons, CDI documents that were left, and with --machine a simulated machine. It refuses while a
plugin serves, a claim has a record or an MPS daemon runs, and where a folder holds anything that is not
Tangram's. What drivers share (MPS, the simulated machine) is kept while another one of Tangram's is in use.
Give --kubelet-dir, --cdi-dir and --driver-name as the plugin has them. Hardware is not touched.
deploy/manifests/clean-nodes runs it on every node."""
_CLEAN_EXAMPLES: Final = """examples:
  on a node:
    tangram plugin clean
  where the kubelet has another folder:
    tangram plugin clean --kubelet-dir /data/kubelet

exit status:
  0  it is removed, or nothing was there
  1  it is in use, and nothing was changed; or the disk refused
  2  wrong options, or a folder holds what is not Tangram's; nothing was changed
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
    metrics_options.add_options(found, "/metrics and /healthz")
    probe_socket = "answer /healthz on this unix socket, for a liveness probe of this plugin"
    found.add_argument("--probe-socket", type=Path, metavar="FILE", help=probe_socket)
    logs.add_options(found)
    machine_options.add_options(found)
    table_files.add_options(found)
    node_options.add_gpu_modes(found)
    node_options.add_imex_channels(found)
    node_options.add_vfs(found)
    node_options.add_compute_instances(found)
    node_options.add_policy(found)
    return found


def release_parser() -> argparse.ArgumentParser:
    """Return the parser of ``tangram plugin release``."""
    found = argparse.ArgumentParser(
        prog=RELEASE,
        description=_RELEASE,
        epilog=_RELEASE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    uid = "UID of the claim, as kubectl get resourceclaim NAME -o yaml shows it; without it: list the claims"
    found.add_argument("uid", nargs="?", metavar="UID", help=uid)
    found.add_argument("--json", action="store_true", help="print one JSON value, for machines")
    name = "of the plugin that prepared the claim; default: %(default)s"
    found.add_argument("--driver-name", default=DEFAULT_DRIVER, metavar="NAME", help=name)
    _add_places(found)
    machine_options.add_options(found)
    node_options.add_gpu_modes(found)
    return found


def clean_parser() -> argparse.ArgumentParser:
    """Return the parser of ``tangram plugin clean``."""
    found = argparse.ArgumentParser(
        prog=CLEAN,
        description=_CLEAN,
        epilog=_CLEAN_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = found.add_argument
    add("--driver-name", default=DEFAULT_DRIVER, metavar="NAME", help="default: %(default)s")
    add("--kubelet-dir", type=Path, default="/var/lib/kubelet", metavar="DIR", help="default: %(default)s")
    add("--cdi-dir", type=Path, default="/var/run/cdi", metavar="DIR", help="default: %(default)s")
    run_dir = "where MPS daemons had their folder, mps; default: %(default)s"
    add("--run-dir", type=Path, default="/run/tangram", metavar="DIR", help=run_dir)
    add(
        "--machine",
        type=Path,
        metavar="DIR",
        help="of a simulated machine, or the folder above its folder machine",
    )
    add("--json", action="store_true", help="print one JSON value, for machines")
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
    grace = (
        "how long calls may go on after SIGTERM; a quarter of that later the process ends, whatever hangs; "
        "keep both below the pod's terminationGracePeriodSeconds; default: %(default)g"
    )
    add("--grace-period", type=float, default=GRACE_S, metavar="SECONDS", help=grace)


def _add_places(found: argparse.ArgumentParser) -> None:
    add = found.add_argument
    add("--kubelet-dir", type=Path, default="/var/lib/kubelet", metavar="DIR", help="default: %(default)s")
    add("--cdi-dir", type=Path, default="/var/run/cdi", metavar="DIR", help="default: %(default)s")
    hook = (
        "NVIDIA's nvidia-cdi-hook as the host names it: it tells the loader's cache of containers about the "
        "driver's libraries, for programs that look there; default: loaders find the libraries without it"
    )
    add("--nvidia-cdi-hook", type=Path, metavar="FILE", help=hook)
