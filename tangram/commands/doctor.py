"""``tangram doctor``: what is stuck on a node or in a cluster, and what to do about it."""

from __future__ import annotations

import shlex
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from agent import node_options
from agent.hardware import machine_options
from agent.hardware.errors import HardwareError
from agent.inventory.options import mode_option
from agent.inventory.vfs import option as vf_option
from plugin.base.errors import PluginError
from plugin.options import Options
from tangram.doctor.age import read_age
from tangram.doctor.cluster.patient import ClusterPatient
from tangram.doctor.finding import Finding
from tangram.doctor.looking import Patient, findings_of, to_mend
from tangram.doctor.node.patient import NodePatient
from tangram.doctor.told import json_of, json_of_fix, text_of
from tangram.errors import BadInput, bad_argument
from tangram.face import DONE, UNREACHABLE, Face, Parser, Subparsers, add_command
from tangram.options import add_driver_name, checked_node_name, host_name
from tangram.preparable import driver_of
from tangram.program.streams import complain, fail
from tangram.summaries import SUMMARIES

FOUND: Final = 1
_AGE: Final = "1h"
_NODE_ONLY: Final = ("simulated", "machine", "node_name", "kubelet_dir", "cdi_dir", "gpu_modes", "vfs")
_EXAMPLE: Final = """tangram doctor --cluster
  tangram doctor --cluster --older-than 30m --json
  tangram doctor --cluster --fix slices-of-gone-node/node-7
  on a node, as root:
    tangram doctor --kubeconfig /etc/kubernetes/kubelet.conf
  in a pod of the DaemonSet:
    kubectl --namespace tangram-system exec POD --container plugin -- \\
        python3 -P -m tangram doctor --node-name NODE --host-root /host
  a simulated machine:
    tangram doctor --simulated dgx-a100 --machine /tmp/t/machine \\
        --kubelet-dir /tmp/t/kubelet --cdi-dir /tmp/t/cdi

Nothing is changed without --fix. What one look finds is looked for again three seconds later; only what
both looks find is told. With --cluster the rights are those of the kubeconfig; what it may not read is
named on standard error and left out.

exit status:
  0  nothing is stuck, or the fix was made
  1  something is stuck
  2  wrong options, or no finding has the id of --fix; nothing was changed
  3  the node or the cluster cannot be read, or the fix was refused"""


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(parsers, "doctor", SUMMARIES["doctor"], _EXAMPLE, _run)
    _add_own(parser)
    add_driver_name(parser, "Tangram's DRA driver")
    _add_node(parser)


def _add_own(parser: Parser) -> None:
    parser.add_argument("--cluster", action="store_true", help="look at a cluster, not at this node")
    file = "with --cluster: default $KUBECONFIG, then ~/.kube/config; on a node: ask this API server too"
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help=file)
    parser.add_argument(
        "--context", metavar="NAME", help="a context of the kubeconfig; default: its current one"
    )
    age = f"with --cluster: report taints older than this, such as 90m; default: {_AGE}"
    parser.add_argument("--older-than", metavar="AGE", help=age)
    parser.add_argument("--fix", metavar="ID", help="fix the one finding with this id; see docs/doctor.md")
    parser.add_argument("--dry-run", action="store_true", help="with --fix: say what would be done")


def _add_node(parser: Parser) -> None:
    group = parser.add_argument_group("this node", "as agent and plugin of the node have them")
    name = "name of the node; default: the host's, or the simulated machine's"
    group.add_argument("--node-name", metavar="NAME", help=name)
    group.add_argument("--kubelet-dir", type=Path, metavar="DIR", help="default: /var/lib/kubelet")
    group.add_argument("--cdi-dir", type=Path, metavar="DIR", help="default: /var/run/cdi")
    machine_options.add_options(parser, is_made=False)
    node_options.add_gpu_modes(parser)
    node_options.add_vfs(parser)


def _run(options: Namespace, face: Face) -> int:
    _check(options)
    with _patient(options, face) as patient:
        try:
            findings = findings_of(patient, time.sleep)
        except (BadInput, PluginError, HardwareError) as error:
            return _unreachable(f"{patient.name} cannot be read: {error}")
        if options.fix is not None:
            return _fix(patient, options, face, findings)
    if options.json:
        face.out.json(json_of(findings, patient.scope))
    else:
        face.out.text(text_of(findings, patient.name, _command(options)))
    return FOUND if findings else DONE


def _fix(patient: Patient, options: Namespace, face: Face, findings: tuple[Finding, ...]) -> int:
    finding = to_mend(findings, options.fix)
    done = f"would {finding.fix}"
    if not options.dry_run:
        try:
            done = patient.mend(finding)
        except (BadInput, PluginError, HardwareError) as error:
            return _unreachable(f"cannot fix {finding.id}: {error}")
    if options.json:
        face.out.json(json_of_fix(finding, patient.scope, done, is_dry_run=options.dry_run))
    else:
        face.out.text(f"{finding.id}: {done}")
    return DONE


@contextmanager
def _patient(options: Namespace, face: Face) -> Iterator[Patient]:
    """Open what is looked at. Raises: BadInput, InvalidOption, SimulationError."""
    driver = driver_of(options)
    if options.cluster:
        age_s = read_age("--older-than", _AGE if options.older_than is None else options.older_than)
        cluster = face.mend(options.kubeconfig, options.context)
        yield ClusterPatient(
            cluster=cluster,
            driver=driver,
            older_than_s=age_s,
            clock=time.time,
            left_out=cache(complain),  # once, though there are two looks
        )
        return
    chosen = face.machines.chosen(machine_options.read_options(options))
    plugin = Options(
        driver_name=driver,
        node_name=checked_node_name(_given(options.node_name, chosen.node_name or host_name())),
        kubelet_dir=(options.kubelet_dir or Path("/var/lib/kubelet")).absolute(),
        cdi_dir=(options.cdi_dir or Path("/var/run/cdi")).absolute(),
        host_root=options.host_root.absolute(),
        modes=mode_option.read_gpu_modes(options.gpu_modes),
        vfs=vf_option.read_vf_rules(options.vfs),
        machine_dir=options.machine,
    )
    asked = (options.kubeconfig, options.context) != (None, None)
    reader = face.connect(options.kubeconfig, options.context) if asked else None
    with chosen.opened() as machine:
        yield NodePatient(machine=machine, options=plugin, clock=time.time, cluster=reader)


def _given(text: str | None, default: str) -> str:
    return default if text is None else text


def _check(options: Namespace) -> None:
    """Refuse options that do not go together. Raises: BadInput."""
    for name in _NODE_ONLY if options.cluster else ("older_than",):
        if getattr(options, name) is not None:
            rule = "has no effect with --cluster" if options.cluster else "is for --cluster"
            raise bad_argument(f"--{name.replace('_', '-')}", None, rule)
    if options.dry_run and options.fix is None:
        raise bad_argument("--dry-run", None, "is for --fix")
    if options.machine is not None and not options.machine.is_dir():
        raise bad_argument("--machine", str(options.machine), "must be the folder of a simulated machine")


def _command(options: Namespace) -> str:
    """Return how this command was called, for people who paste it."""
    given = ["tangram doctor", *(["--cluster"] if options.cluster else [])]
    names = ("kubeconfig", "context", "driver_name", *(() if options.cluster else _NODE_ONLY))
    for name in names:
        value = getattr(options, name)
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                given.append(f"--{name.replace('_', '-')} {shlex.quote(str(one))}")
    return " ".join(given)


def _unreachable(line: str) -> int:
    return fail(line, UNREACHABLE)
