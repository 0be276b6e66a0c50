"""A real Kubernetes on this machine: python hack/cluster tools|run|up|test [OPTION...]

In goes the command line; the exit status is the command's own, 1 where the cluster cannot be had. Three
more commands are the program calling itself: inside its namespaces, as a node's holder, as a watcher.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from launcher import namespaces
from launcher.build import Builder, tools_folder
from launcher.errors import LauncherError
from launcher.install import machine_file, tangram_image
from launcher.machine import check_machine
from launcher.mounts import furnish
from launcher.part import Patience
from launcher.settings import Settings, check, parse_gates
from launcher.supervisor import supervise
from launcher.tests import USUAL_VERSIONS, run_in_clusters, run_in_users_cluster
from launcher.toolset import VERSIONS, containerd, helm, kubernetes, peer_driver

_PATIENCE = Patience(clock=time.monotonic, sleep=time.sleep)


def say(text: str) -> None:
    """Tell people what goes on; the output itself stays free for what a command prints."""
    print(f"cluster: {text}", file=sys.stderr, flush=True)


def _tools(options: argparse.Namespace) -> int:
    builder = Builder(folder=tools_folder(), say=say, clock=time.monotonic)
    sets = [containerd(), helm(), *(kubernetes(version) for version in options.versions or VERSIONS)]
    for toolset in sets:
        print(builder.programs(toolset), flush=True)
    return 0


def _run(options: argparse.Namespace) -> int:
    # The oldest version's set has no kubelet: allocation only.
    node_count = options.nodes
    if options.control_plane_only or "kubelet" not in kubernetes(options.version).programs:
        node_count = 0
    check(options.version, node_count, options.node_objects)
    gates = parse_gates(options.feature_gates)
    machine = machine_file(options.node_yaml) if options.node_yaml else None
    is_bare = options.bare or node_count == 0
    if options.controller and is_bare:
        raise LauncherError("cannot run the controller: --controller needs a real node with Tangram")
    if options.driver_options and is_bare:
        raise LauncherError("cannot pass --driver-option on: it needs a real node with Tangram")
    check_machine(has_nodes=node_count > 0)
    builder = Builder(folder=tools_folder(), say=say, clock=time.monotonic)
    own = builder.programs(kubernetes(options.version))
    kubectl = own if (own / "kubectl").exists() else builder.programs(kubernetes(VERSIONS[0]))
    programs = builder.programs(containerd())
    peer = _peer(builder) if options.peer else None
    with namespaces.folder(_PATIENCE, options.keep_logs) as folder:
        settings = Settings(
            folder=folder,
            version=options.version,
            kubernetes=own,
            kubectl=kubectl / "kubectl",
            containerd=programs,
            node_count=node_count,
            node_objects=options.node_objects,
            machine=machine,
            peer=peer,
            helm=builder.programs(helm()) if options.helm else None,
            images=() if is_bare and not options.with_image else (tangram_image(),),
            is_bare=is_bare,
            owned_objects=options.owned,
            with_controller=options.controller,
            feature_gates=gates,
            driver_options=tuple(options.driver_options),
            command=tuple(options.command),
        )
        return namespaces.run_inside(settings)


def _peer(builder: Builder) -> Path:
    tools = peer_driver()
    (program,) = tools.programs
    return builder.programs(tools) / program


def _test(options: argparse.Namespace) -> int:
    kubeconfig = os.environ.get("KUBECONFIG")
    if kubeconfig:
        return run_in_users_cluster(kubeconfig, options.arguments, say)
    versions = options.versions or (VERSIONS if options.all else USUAL_VERSIONS)
    return run_in_clusters(versions, options.arguments, say, time.monotonic)


def _inside(options: argparse.Namespace) -> int:
    namespaces.be_process_one()
    return supervise(Settings.from_json(options.settings), _PATIENCE, say)


def _hold_node(options: argparse.Namespace) -> int:
    furnish(options.folder)
    print("furnished", flush=True)
    os.execvp("sleep", ("sleep", "infinity"))


def _watch_folder(options: argparse.Namespace) -> int:
    namespaces.watch_folder(options.folder, options.keep_logs, _PATIENCE)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/cluster", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="tools|run|up|test")
    tools = commands.add_parser("tools", help="build what is missing and print the folders")
    tools.add_argument("versions", nargs="*", metavar="VERSION", help=f"of Kubernetes: {', '.join(VERSIONS)}")
    tools.set_defaults(run=_tools)
    run = commands.add_parser("run", help="run a command in a cluster that lives as long as it")
    _add_cluster_options(run)
    run.add_argument("command", nargs="+", metavar="COMMAND", help="after --, with its arguments")
    up = commands.add_parser("up", help="open a shell in a cluster that lives as long as it")
    _add_cluster_options(up)
    up.set_defaults(command=())
    test = commands.add_parser(
        "test", help="run the tests of tests/cluster, in the cluster of KUBECONFIG if set"
    )
    test.add_argument("--all", action="store_true", help="on every pinned version")
    test.add_argument("--version", dest="versions", action="append", choices=VERSIONS, help="may be repeated")
    test.add_argument("arguments", nargs="*", metavar="PYTEST", help="after --, in the place of the folders")
    test.set_defaults(run=_test)
    inside = commands.add_parser("inside")
    inside.add_argument("settings")
    inside.set_defaults(run=_inside)
    holder = commands.add_parser("hold-node")
    holder.add_argument("folder", type=Path)
    holder.set_defaults(run=_hold_node)
    watcher = commands.add_parser("watch-folder")
    watcher.add_argument("folder", type=Path)
    watcher.add_argument("keep_logs", type=Path, nargs="?")
    watcher.set_defaults(run=_watch_folder)
    return parser


def _add_cluster_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--version", default=VERSIONS[0], metavar="VERSION", help=f"of Kubernetes: {', '.join(VERSIONS)}")
    add("--nodes", type=int, default=1, metavar="N", help="real nodes: a kubelet and a containerd each (1)")
    add("--node-yaml", metavar="NODE", help="the machine that nodes simulate: a shipped name, or a file")
    add("--node-objects", type=int, default=0, metavar="N", help="nodes that are API objects only, for load")
    add("--control-plane-only", action="store_true", help="no real node")
    add("--peer", action="store_true", help="with the dra-example-driver on the nodes, to compare")
    add("--with-image", action="store_true", help="with --bare: Tangram's image is on the nodes")
    add("--helm", action="store_true", help="with Helm on the PATH")
    add("--owned", action="store_true", help="the node objects' devices are for Tangram's controller")
    add("--controller", action="store_true", help="Tangram's controller allocates the devices of all nodes")
    add(
        "--driver-option",
        dest="driver_options",
        action="append",
        default=[],
        metavar="=--OPTION",
        help="for agent and plugin: --driver-option=--gpu-modes=all=whole,mig,shared; may be repeated",
    )
    add("--bare", action="store_true", help="without Tangram")
    add("--feature-gates", default="", metavar="A=true,...", help="over those that the version needs")
    add("--keep-logs", type=Path, metavar="DIR", help="copy the logs there in the end")
    parser.set_defaults(run=_run)


def main() -> int:
    """Run what is asked for."""
    options = _parser().parse_args()
    try:
        status: int = options.run(options)
    except LauncherError as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    return status


if __name__ == "__main__":
    raise SystemExit(main())
