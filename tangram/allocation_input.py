"""What ``tangram allocate`` and ``tangram explain`` are asked: claims, what is there, and where."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import dataclass

from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node, NodeSelection, OnNode
from scheduler_core.model.pool import Pool
from tangram.documents import Document, read_documents
from tangram.errors import BadInput, bad_argument
from tangram.face import Parser
from tangram.objects import KINDS, Objects, read_objects

HOSTNAME_LABEL = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class AllocationInput:
    """Objects of files, and what an allocation needs of them.

    Shape: ``nodes`` in the order of trying; ``documents`` as the files have them.
    """

    objects: Objects
    cluster: Cluster
    nodes: tuple[Node, ...]
    documents: tuple[Document, ...] = ()


def add_allocation_input(parser: Parser, *, needs_files: bool = True) -> None:
    """Add the options that say what to allocate and where."""
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        required=needs_files,
        metavar="FILE",
        dest="files",
        help=f"YAML or JSON with any of {', '.join(KINDS)}; - for standard input; may be repeated",
    )
    parser.add_argument(
        "--pod",
        action="append",
        metavar="FILE",
        dest="pods",
        help="place the annotated pods of a file, one after another, in the place of claims; may be repeated",
    )
    parser.add_argument(
        "--node-name", metavar="NAME", help="allocate on this node only; default: the first node that fits"
    )


def read_allocation_input(options: Namespace) -> AllocationInput:
    """Read the files of the options. Raises: BadInput where there is nothing to allocate, or nowhere."""
    found = read_present(options)
    if not found.objects.claims:
        raise BadInput(f"{', '.join(options.files)}: no ResourceClaim without an allocation: nothing to do")
    return found


def read_present(options: Namespace) -> AllocationInput:
    """Read the files of the options, with claims or without. Raises: BadInput where there is no node."""
    documents = tuple(document for path in options.files for document in read_documents(path))
    objects = read_objects(documents)
    _refuse_broken(objects)
    pools = objects.pools()
    _tell_left_out(pools)
    cluster = Cluster(pools=pools, classes=objects.classes, allocated=objects.held(pools))
    return AllocationInput(objects, cluster, nodes_of(options.node_name, objects, pools), documents)


def _refuse_broken(objects: Objects) -> None:
    """Refuse slices with entries that break a rule of their own: the core would only set them aside."""
    reasons: list[str] = []
    for slice_ in objects.composite_slices:
        reasons += [slice_.problem] if slice_.problem else []
        reasons += [*slice_.broken_mixins.values(), *slice_.broken_devices.values()]
    for v1_slice in objects.v1_slices:
        reasons += v1_slice.broken.values()
    if reasons:
        raise BadInput("\n".join(reasons))


def _tell_left_out(pools: Iterable[Pool]) -> None:
    """Say which devices lead nowhere; the part that is missing may be in a slice that was not given."""
    for pool in pools:
        for name, rejected in pool.rejected.items():
            print(f"tangram: pool {pool.id}: {name} is left out: {rejected.reason}", file=sys.stderr)


def nodes_of(wanted: str | None, objects: Objects, pools: Iterable[Pool]) -> tuple[Node, ...]:
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


def _named(pools: Iterable[Pool]) -> set[str]:
    selections: list[NodeSelection] = []
    for pool in pools:
        selections += [*pool.seen_from, *(device.nodes for device in pool.devices)]
    return {nodes.name for nodes in selections if isinstance(nodes, OnNode)}


def _bare(name: str) -> Node:
    """Return a node of which nothing but the name is known; kubelets label it with that."""
    return Node(name, {HOSTNAME_LABEL: name})
