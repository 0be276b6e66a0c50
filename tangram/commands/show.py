"""``tangram show``: what a node publishes: its PCIe tree, its devices, the slices and their sizes."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Final

from agent import node_options
from tangram.cluster_options import add_cluster, check_cluster
from tangram.errors import bad_argument
from tangram.face import Face, Subparsers, add_command
from tangram.files import add_files, refuse_idle_recursion
from tangram.node_options.shown import LABELS, add_partitions, add_policy
from tangram.options import add_driver_name
from tangram.program.completion import completes, node_names
from tangram.summaries import SUMMARIES

SLICE_FORMS: Final = ("composite", "v1", "v1-1.34")


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "show",
        SUMMARIES["show"],
        "tangram show --node dgx-a100 --as v1",
        _run,
        wide="with every device's name",
    )
    source = parser.add_mutually_exclusive_group()
    node = source.add_argument(
        "--node", metavar="NODE", help="a shipped simulated machine, or the path of a node file"
    )
    completes(node, node_names)
    source.add_argument("--machine", metavar="DIR", type=Path, help="a simulated machine in its directory")
    source.add_argument("--real", action="store_true", help="the machine that this runs on")
    add_files(parser, "slices and MultiNodePools in YAML or JSON", among=source)
    source.add_argument(
        "--sizes", action="store_true", help="print the slice sizes of every shipped machine and nothing else"
    )
    parser.add_argument(
        "--node-name", metavar="NAME", help="the node's name with --real; default: the host's"
    )
    add_driver_name(parser)
    add_partitions(parser)
    node_options.add_gpu_modes(parser)
    node_options.add_compute_instances(parser)
    node_options.add_imex_channels(parser)
    node_options.add_vfs(parser)
    node_options.add_multus_resource(parser)
    add_policy(parser)
    parser.add_argument(
        "--compatibility",
        action="store_true",
        help="with -f or --cluster: which devices may be in use together; exit status 1 for contradictions",
    )
    add_cluster(parser, "the slices that a cluster holds; --node then names one of its nodes")
    parser.add_argument("--as", choices=SLICE_FORMS, dest="form", help="print the slices in this form")


def _run(options: Namespace, face: Face) -> int:
    refuse_idle_recursion(options)
    check_cluster(options, ("machine", "real", "files", "sizes", "driver_name"))
    _check(options)
    if options.cluster or options.files:
        from tangram.showing import files

        return (files.run_cluster if options.cluster else files.run)(options, face)
    from tangram.showing import node

    return (node.run_sizes if options.sizes else node.run)(options, face)


def _check(options: Namespace) -> None:
    """Refuse options that would have no effect."""
    if options.partitions is not None and (options.sizes or options.files or options.cluster):
        raise bad_argument("--partitions", options.partitions, "has no effect with --file and --cluster")
    if options.files or options.cluster:
        _refuse_modes(options)
    if options.sizes or options.files or options.cluster:
        others = {
            "--multus-resource": options.multus_resource,
            "--vfs": options.vfs,
            "--imex-channels": options.imex_channels or None,
            node_options.POLICY: options.policy,
            LABELS: options.node_labels,
        }
        for option, given in others.items():
            if given is not None:
                raise bad_argument(option, str(given), "has no effect with --sizes, --file and --cluster")
    if options.form is not None and options.sizes:
        raise bad_argument("--as", options.form, "has no effect with --sizes")
    if options.compatibility and (options.form is not None or not (options.files or options.cluster)):
        raise bad_argument("--compatibility", None, "needs --file or --cluster, and excludes --as")
    if options.node_name is not None and not options.real:
        raise bad_argument("--node-name", options.node_name, "is for --real; simulated machines have a name")


def _refuse_modes(options: Namespace) -> None:
    """Refuse ``--gpu-modes`` and ``--compute-instances`` with slices that exist already. Raises: BadInput."""
    rule = "has no effect with --file and --cluster"
    for text in options.gpu_modes or ():
        raise bad_argument(node_options.GPU_MODES, text, rule)
    if options.compute_instances is not None:
        raise bad_argument(node_options.COMPUTE_INSTANCES, options.compute_instances, rule)
