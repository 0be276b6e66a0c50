"""The input of ``tangram allocate`` and ``tangram explain``: claims, devices and nodes."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.comparison.kube_scheduler import decided_otherwise
from scheduler_core.frontends.objects import KINDS, Objects
from scheduler_core.frontends.validation.documents import POD_KINDS
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation
from scheduler_core.state.cluster_state import ClusterState
from tangram.errors import BadInput, bad_argument
from tangram.face import Parser
from tangram.files import add_files, read_files
from tangram.objects import read_objects, report_left_out
from tangram.options import CONFIGURED_DRIVER, add_driver_name
from tangram.preparable import driver_of
from tangram.program.streams import complain

MAKES_PODS = frozenset(POD_KINDS) - {"Pod"}


@dataclass(frozen=True, slots=True)
class AllocationInput:
    """Objects of files, and what an allocation needs of them.

    Shape: ``state`` knows what ``cluster`` says; ``nodes`` in the order of trying; ``documents`` as the files
           have them; ``others`` make pods, and are not among the objects.
    """

    objects: Objects
    cluster: Cluster
    state: ClusterState
    nodes: tuple[Node, ...]
    documents: tuple[Document, ...] = ()
    others: tuple[Document, ...] = ()

    @property
    def may_be_marked(self) -> bool:
        """Whether a document may ask by annotations for more than the API says: a claim, a node, a Device."""
        return bool(self.objects.reported) or any(map(_may_be_marked, self.documents))


def add_allocation_input(parser: Parser, *, needs_files: bool = True) -> None:
    """Add the options that say what to allocate and where."""
    add_files(
        parser, f"YAML or JSON with any of {', '.join(KINDS)}, or what makes pods", is_required=needs_files
    )
    parser.add_argument(
        "--pod",
        action="append",
        metavar="FILE",
        dest="pods",
        help="place the annotated pods of a file one after another, instead of claims; may be repeated",
    )
    add_driver_name(parser, CONFIGURED_DRIVER)
    parser.add_argument(
        "--node-name", metavar="NAME", help="allocate on this node only; default: the first node that fits"
    )


def read_allocation_input(options: Namespace) -> AllocationInput:
    """Read the files of the options. Raises: BadInput where there is nothing to allocate, or nowhere."""
    found = read_present(options)
    if not found.objects.claims and not found.others:
        raise BadInput(f"{', '.join(options.files)}: no ResourceClaim without an allocation")
    return found


def read_present(options: Namespace) -> AllocationInput:
    """Read the files of the options, with claims or without. Raises: BadInput where there is no node."""
    everything = read_files(options)
    others = tuple(one for one in everything if str(one.content.get("kind")) in MAKES_PODS)
    documents = tuple(one for one in everything if str(one.content.get("kind")) not in MAKES_PODS)
    objects = read_objects(documents, driver_of(options))
    cluster = read_cluster(objects)
    nodes = nodes_of(options.node_name, objects, cluster.pools)
    return AllocationInput(objects, cluster, ClusterState.of(cluster), nodes, documents, others)


def _may_be_marked(document: Document) -> bool:
    kind = document.content.get("kind")
    metadata = document.content.get("metadata") or {}
    return kind == "Node" or (kind == "ResourceClaim" and "annotations" in metadata)


def read_cluster(objects: Objects) -> Cluster:
    """Return the cluster of what was read, and report each device and mixin that is left out.

    One entry that breaks a rule, or lacks a part that may be in a slice that was not given, is unusable
    alone, as in a cluster.
    Raises: BadInput for a slice that cannot be used as a whole, or a pod with a bad annotation.
    """
    refused = [one.problem for one in objects.composite_slices if one.problem]
    if refused:
        raise BadInput("; ".join(refused))
    try:
        cluster = objects.cluster()
    except InvalidDocument as error:
        raise BadInput(str(error)) from error
    report_left_out(objects, cluster.pools)
    return cluster


def warn_of_kube_scheduler(asked: AllocationInput, allocation: Allocation) -> None:
    """Print why kube-scheduler would not give the allocation, if it would not."""
    for one in decided_otherwise(asked.objects.claims, asked.cluster.pools, allocation):
        complain(str(one))


def nodes_of(wanted: str | None, objects: Objects, pools: Iterable[Pool]) -> tuple[Node, ...]:
    """Return the nodes to try. Raises: BadInput where there is none."""
    found = objects.nodes_to_try(pools, wanted)
    if not found:
        rule = "no file has a Node and no slice names one: say on which node to allocate"
        raise bad_argument("--node-name", None, "; ".join((rule, *objects.missing_nodes())))
    for sentence in objects.missing_nodes() if wanted is None else ():
        complain(sentence)
    return found
