"""``tangram top``: who holds which GPUs and NICs of a node or a cluster, and what is free."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from typing import Final

from scheduler_core.codec.documents import InvalidDocument
from scheduler_core.frontends.objects import pods_by_claim
from scheduler_core.frontends.occupancy.to_json import cluster_json
from scheduler_core.frontends.occupancy.values import ClusterOccupancy
from scheduler_core.frontends.occupancy.view import OccupancyView
from scheduler_core.state.cluster_state import ClusterState
from tangram.cluster_options import add_cluster, check_cluster
from tangram.errors import BadInput, bad_argument
from tangram.face import DONE, Face, Subparsers, add_command
from tangram.files import add_files, read_files
from tangram.live_cluster import Listed
from tangram.objects import read_objects
from tangram.options import add_only_driver
from tangram.program.streams import complain
from tangram.summaries import SUMMARIES
from tangram.top.shown import narrowed, pictures

_EXAMPLE: Final = """tangram top --cluster
  tangram top --cluster node-1 -n team-a --watch
  tangram top -f slices.yaml -f claims.yaml -o wide

Each memory slice of a GPU is one sign: . is free, x is unusable, a letter is a
claim that holds it. FRAG is the part of the room for further partitions that is
lost by where the held ones are. docs/top.md explains everything that is shown."""


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "top",
        SUMMARIES["top"],
        _EXAMPLE,
        _run,
        wide="with all that fits, the model and the place in the node",
    )
    parser.add_argument("nodes", nargs="*", metavar="NODE", help="only these nodes; default: all")
    add_files(parser, "slices and allocated claims in YAML or JSON")
    parser.add_argument(
        "--node", metavar="MACHINE", help="a shipped simulated machine, or the path of a node file"
    )
    add_cluster(parser, "read a running cluster")
    add_only_driver(parser)
    one = parser.add_mutually_exclusive_group()
    one.add_argument(
        "-n",
        "--namespace",
        metavar="NAME",
        help="only GPUs and NICs of which claims of this namespace hold all or a part",
    )
    one.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces; the default")
    parser.add_argument(
        "--watch", action="store_true", help="with --cluster: draw it anew after each change, until Ctrl-C"
    )


def _run(options: Namespace, face: Face) -> int:
    check_cluster(options, ("files", "node"), ("watch",))
    if not (options.cluster or options.files or options.node):
        raise bad_argument("top", None, "name --cluster, --file or --node")
    if options.watch:
        from tangram.top.watch import watch

        return watch(options, face)
    found = narrowed(_of_cluster(options, face) if options.cluster else _of_files(options, face), options)
    if options.json:
        face.out.json(cluster_json(found))
    else:
        face.out.show(*pictures(found, options, face))
    return DONE


def _of_cluster(options: Namespace, face: Face) -> ClusterOccupancy:
    from tangram.top.cluster import READINGS, TopCluster

    cluster, known = face.connect(options.kubeconfig, options.context), TopCluster()
    for kind, reading in READINGS.items():
        for sentence in known.take(kind, Listed(cluster.read(kind, reading))):
            complain(sentence)
    if not known.has_slices:
        raise BadInput("the cluster holds no ResourceSlice: does a DRA driver run there?")
    return known.occupancy()


def _of_files(options: Namespace, face: Face) -> ClusterOccupancy:
    documents = read_files(options)
    objects = read_objects(documents)
    pools = []
    if options.node:
        from tangram.showing.node import simulated_pool

        pools.append(simulated_pool(options.node, face))
    elif not objects.composite_slices and not objects.v1_slices and not objects.reported:
        raise BadInput(f"{', '.join(options.files)}: no ResourceSlice: nothing to show")
    try:
        cluster = objects.cluster()
        pods = pods_by_claim(documents)
    except InvalidDocument as error:
        raise BadInput(str(error)) from error
    state = ClusterState.of(replace(cluster, pools=(*cluster.pools, *pools)))
    return OccupancyView(state).cluster(pods)
