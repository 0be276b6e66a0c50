"""The options of the agent, checked once: a value of this type can be used without further checks.

Takes a command line; returns a value or one error. Nothing is opened or made here.
"""

from __future__ import annotations

import argparse
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent import node_options
from agent.hardware import machine_options
from agent.hardware.machine_options import MachineOptions
from agent.inventory import table_files
from agent.inventory.fabric import imex
from agent.inventory.model import LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes
from agent.inventory.numbers.number_file import folder_of
from agent.inventory.options import mode_option, split_option
from agent.inventory.options.settings import Settings
from agent.inventory.vfs import multus
from agent.inventory.vfs import option as vf_option
from agent.inventory.vfs.rules import VfRules
from agent.once import STDOUT
from agent.policy import option as policy_option
from agent.policy.effect_file import EffectFile
from daemon import logs, metrics_options
from daemon.command_line import require
from daemon.logs import LogOptions
from daemon.metrics_options import MetricsOptions
from scheduler_core.base.limits import DOMAIN_LENGTH
from scheduler_core.model.names import DEFAULT_DRIVER, DRIVER_RULE, is_driver
from scheduler_core.model.ownership import CONTROLLER, OWNER

_EXAMPLES: Final = """examples:
  in a DaemonSet, with the service account of its pod:
    tangram agent --node-name $(NODE_NAME) --metrics-address 127.0.0.1:9464
  on a node, to see what would be published; nothing is changed:
    tangram agent --once --host-root /host
  outside a cluster, for a simulated machine and an existing Node object:
    tangram agent --kubeconfig ~/.kube/config --node-name node-a \\
                  --simulated dgx-a100 --machine /tmp/t/machine

The slices stay when the agent ends: running and new pods do not need the agent. They are deleted together
with their Node object.

exit status:
  0  it published until SIGTERM or SIGINT, or wrote the slices (--once)
  1  it could not start: no API server was found, or the machine could not be opened
  2  wrong options; nothing was created
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the agent publishes, where it reads it and where it answers.

    Shape: ``kubeconfig`` and ``context`` None for the usual ones, else the pod's service account;
           ``metrics`` and ``probe_socket`` None to listen nowhere;
           ``partitions`` and ``partition_policy`` as ``inventory.table_files`` reads them;
           ``composite_only`` for composite slices alone where the controller allocates;
           ``modes`` in which the GPUs are offered; ``split`` the GPUs whose GPU instances are also offered in
           parts, None for none; ``multus_resource`` the name under which Multus finds VFs, None where it
           does not; ``kubelet_dir`` the kubelet's folder, where the numbers of the GPUs are kept and the
           plugin's records are;
           ``imex_channels`` how many IMEX channels are offered; ``vfs`` how many VFs the NICs shall
           have, None where nobody makes any; ``policy`` the file with the policy of the fleet's nodes, None
           without any; ``replaced`` the given options that it replaces;
           ``once`` where the slices of one look are written, ``-`` for standard output, None to publish them.
    Units: ``resync_s`` seconds.
    Raises: InvalidOption naming the option, the value and the rule.
    """

    driver_name: str
    node_name: str
    kubeconfig: Path | None = None
    context: str | None = None
    machine: MachineOptions = field(default_factory=MachineOptions)
    metrics: MetricsOptions | None = None
    probe_socket: Path | None = None
    resync_s: float = 300.0
    composite: bool = True
    composite_only: bool = False
    partitions: str | None = None
    partition_policy: str | None = None
    modes: GpuModes = field(default_factory=GpuModes)
    imex_channels: int = 0
    vfs: VfRules | None = None
    split: SplitGpus | None = None
    multus_resource: str | None = None
    kubelet_dir: Path = Path("/var/lib/kubelet")
    log: LogOptions = field(default_factory=LogOptions)
    once: str | None = None
    policy: Path | None = None
    replaced: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(is_driver(self.driver_name), "--driver-name", self.driver_name, DRIVER_RULE)
        rule = f"must be a lower-case DNS subdomain of at most {DOMAIN_LENGTH} characters"
        require(is_driver(self.node_name), "--node-name", self.node_name, rule)
        require(self.kubelet_dir.is_absolute(), "--kubelet-dir", self.kubelet_dir, "must be absolute")
        require(self.resync_s >= 1, "--resync", self.resync_s, "must be at least 1 second")

    def settings(self, linked: LinkedGpus | None) -> Settings:
        """Return what the node offers by these options. Shape: ``linked`` the table of ``partitions``."""
        return Settings(
            linked=linked,
            modes=self.modes,
            split=self.split,
            imex_channels=self.imex_channels,
            vfs=self.vfs,
            multus_resource=self.multus_resource,
        )

    @property
    def effect_file(self) -> EffectFile:
        """Return the file that says what is in effect of the policy."""
        folder = folder_of(self.kubelet_dir, self.driver_name, self.machine.folder)
        return EffectFile(folder, self.node_name)


def read_options(argv: Sequence[str] | None) -> Options:
    """Read a command line. Raises: InvalidOption; SystemExit after --help and for unknown options."""
    given = parser().parse_args(argv)
    has_use = given.once or given.output is None
    require(has_use, "--output", given.output, "is for --once")
    fits = not (given.composite_only and (given.no_composite or given.once))
    require(fits, "--composite-only", None, "excludes --no-composite and --once")
    return Options(
        driver_name=given.driver_name,
        node_name=given.node_name or socket.gethostname().lower(),
        kubeconfig=given.kubeconfig,
        context=given.context,
        machine=machine_options.read_options(given),
        metrics=metrics_options.read_options(given),
        probe_socket=given.probe_socket,
        resync_s=given.resync,
        composite=not given.no_composite,
        composite_only=given.composite_only,
        partitions=given.partitions,
        partition_policy=given.partition_policy,
        modes=mode_option.read_gpu_modes(given.gpu_modes),
        imex_channels=imex.read_imex_channels(given.imex_channels),
        vfs=vf_option.read_vf_rules(given.vfs),
        split=split_option.read_split_gpus(given.compute_instances),
        multus_resource=multus.read_multus_resource(given.multus_resource),
        kubelet_dir=given.kubelet_dir.absolute(),
        log=LogOptions.of(given),
        once=given.output or STDOUT if given.once else None,
        policy=given.policy,
        replaced=policy_option.replaced_options(given),
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
    add("--node-name", metavar="NAME", help="name of the Node object and of the pool; default: the host's")
    add("--driver-name", default=DEFAULT_DRIVER, metavar="NAME", help="default: %(default)s")
    add("--kubeconfig", type=Path, metavar="FILE", help="default: $KUBECONFIG, else the service account")
    add("--context", metavar="NAME", help="the context of the kubeconfig; default: its current one")
    machine_options.add_options(made)
    _add_listening(made)
    resync = "discover devices again this often even without an event; default: %(default)g"
    add("--resync", type=float, default=300.0, metavar="SECONDS", help=resync)
    kubelet_dir = "the kubelet's folder; GPU numbers and records of claims are in the plugin's part of it; %s"
    given = "agent and plugin of a node need the same value; default: %(default)s"
    add("--kubelet-dir", type=Path, default=Path("/var/lib/kubelet"), metavar="DIR", help=kubelet_dir % given)
    no_composite = "publish ResourceSlices only, no CompositeResourceSlices"
    add("--no-composite", action="store_true", help=no_composite)
    composite_only = (
        f"publish CompositeResourceSlices only while the Node has the label {OWNER}={CONTROLLER}; the "
        "controller reads them, kube-scheduler does not"
    )
    add("--composite-only", action="store_true", help=composite_only)
    table_files.add_options(made)
    node_options.add_gpu_modes(made)
    node_options.add_imex_channels(made)
    node_options.add_vfs(made)
    node_options.add_compute_instances(made)
    node_options.add_multus_resource(made)
    node_options.add_policy(made)
    return made


def _add_listening(made: argparse.ArgumentParser) -> None:
    metrics_options.add_options(made, "/metrics, /healthz and /readyz")
    probe_socket = "serve the same on this unix socket, for probes of this agent and no other on the host"
    made.add_argument("--probe-socket", type=Path, metavar="FILE", help=probe_socket)
    logs.add_options(made)
    once = (
        "read the machine once, write the slices and end; no API server is asked, so what only it knows is "
        "missing: owner, allocator, pools of several nodes, what it accepts"
    )
    made.add_argument("--once", action="store_true", help=once)
    output = (
        "with --once: an empty or new folder for a file of each slice; - for standard output, the default"
    )
    made.add_argument("--output", metavar="DIR", help=output)
