"""``tangram allocate``: claims and slices from files to an allocation, or to the reasons against it."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from scheduler_core.allocate import Cluster, allocate_somewhere
from scheduler_core.model.nodes import Node, NodeSelection, OnNode
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation, Unallocatable
from tangram.documents import read_documents
from tangram.errors import BadInput, bad_argument
from tangram.face import DOES_NOT_FIT, DONE, Face, Subparsers, add_command
from tangram.objects import KINDS, Objects, read_objects
from tangram.pictures.allocation import allocation_picture, refusal_picture
from tangram.plain import plain
from tangram.results import status_of

HOSTNAME_LABEL = "kubernetes.io/hostname"


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "allocate",
        "allocate claims from files, or say why they do not fit (exit status 1)",
        "tangram show --node a100x2 --as v1 | tangram allocate -f - \\\n"
        "    -f deploy/examples/device-classes.yaml -f deploy/examples/mig-claim.yaml",
        _run,
    )
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        required=True,
        metavar="FILE",
        dest="files",
        help=f"YAML or JSON with any of {', '.join(KINDS)}; - for standard input; may be repeated",
    )
    parser.add_argument(
        "--node-name", metavar="NAME", help="allocate on this node only; default: the first node that fits"
    )


def _run(options: Namespace, face: Face) -> int:
    objects = read_objects(document for path in options.files for document in read_documents(path))
    if not objects.claims:
        raise BadInput(f"{', '.join(options.files)}: no ResourceClaim without an allocation: nothing to do")
    pools = objects.pools()
    cluster = Cluster(pools=pools, classes=objects.classes, allocated=tuple(objects.allocated))
    nodes = _nodes(options.node_name, objects, pools)
    match allocate_somewhere(objects.claims, cluster, nodes):
        case Allocation() as allocation:
            if options.json:
                face.out.json(_answer(allocation, objects))
            else:
                face.out.show(allocation_picture(allocation, pools, objects.allocated, face.out.width))
            return DONE
        case Unallocatable() as refusal:
            if options.json:
                face.out.json({"allocated": False} | plain(refusal))
            else:
                face.out.show(refusal_picture(refusal))
            return DOES_NOT_FIT


def _answer(allocation: Allocation, objects: Objects) -> dict[str, Any]:
    claims = [
        {"claim": str(claim.ref), "status": status_of(claim, allocation, objects.classes)}
        for claim in objects.claims
    ]
    return {"allocated": True, "node": allocation.node, "claims": claims}


def _nodes(wanted: str | None, objects: Objects, pools: tuple[Pool, ...]) -> tuple[Node, ...]:
    """Return the nodes to try: those of the files, else those that the slices name."""
    known = {node.name: node for node in objects.nodes}
    for name in sorted(_named(pools)):
        known.setdefault(name, _bare(name))
    if wanted is not None:
        return (known.get(wanted, _bare(wanted)),)
    if not known:
        rule = "no file has a Node and no slice names one: say on which node to allocate"
        raise bad_argument("--node-name", None, rule)
    return tuple(known.values())


def _named(pools: tuple[Pool, ...]) -> set[str]:
    selections: list[NodeSelection] = [nodes for pool in pools for nodes in pool.seen_from]
    selections += [device.nodes for pool in pools for device in pool.devices]
    return {nodes.name for nodes in selections if isinstance(nodes, OnNode)}


def _bare(name: str) -> Node:
    """Return a node of which nothing but the name is known; kubelets label it with that."""
    return Node(name, {HOSTNAME_LABEL: name})
