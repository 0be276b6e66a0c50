"""What ``tangram plan`` and ``tangram simulate`` read: a cluster, nodes to add, and claims.

Device classes of Tangram's driver that are given nowhere are added, so that nodes alone are enough.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_claim, decode_class
from scheduler_core.frontends.objects import KINDS, Objects
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef, DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.nodes import Node
from scheduler_core.planning.kinds import EVERY_DEVICE
from scheduler_core.planning.offered import as_owner_sees
from tangram.allocation_input import read_cluster
from tangram.classes import device_classes
from tangram.cluster_objects import LeftOut, cluster_objects, holding, left_in, or_left_out
from tangram.cluster_options import add_cluster, check_cluster
from tangram.clusters import ClusterReader, Reading
from tangram.documents import read_documents
from tangram.errors import BadInput, bad_argument
from tangram.face import Face, Parser
from tangram.files import add_files, read_files
from tangram.objects import read_objects
from tangram.options import add_driver_name
from tangram.planning.nodes import add_nodes, added_pools
from tangram.preparable import driver_of
from tangram.program.streams import complain

KEYS: Final = ("type", "profile")
"""The attributes by which kinds of devices are told apart: those that DRA drivers of GPUs publish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A cluster, and what its claims ask for.

    Shape: ``nodes`` in the order of trying; ``specs`` has the claims that hold devices, by name; ``waiting``
           those that hold none; ``added`` the kinds of the nodes that were added, by name; ``driver`` is
           Tangram's.
    """

    cluster: Cluster
    nodes: tuple[Node, ...]
    specs: Mapping[ClaimRef, Claim]
    waiting: tuple[Claim, ...]
    added: Mapping[str, str]
    driver: str


def add_known(parser: Parser) -> None:
    """Add the options that say which cluster is asked about."""
    add_files(parser, f"YAML or JSON with any of {', '.join(KINDS)}")
    add_cluster(parser, "read nodes, classes and claims of a running cluster instead of files")
    add_nodes(parser, "nodes that are added to those of the files or the cluster")
    add_driver_name(parser, "Tangram's DRA driver, for the nodes of --add and for its DeviceClasses")


def read_known(options: Namespace, face: Face) -> Known:
    """Read the cluster that the options name. Raises: BadInput where there is no node."""
    check_cluster(options, ("files",))
    driver = driver_of(options)
    objects, specs = _objects(options, face)
    cluster = read_cluster(objects)
    names = {node.name for node in objects.nodes_to_try(cluster.pools)}
    added = tuple(added_pools(options.add, face.machines, driver, names))
    kinds = [one.kind for one in options.add for _ in range(one.count)]
    nodes = (*objects.nodes_to_try(cluster.pools), *(Node(pool.id.name) for pool in added))
    if not nodes:
        raise bad_argument(
            "--add", None, "no node is known: give slices with --file, or --cluster, or --add N=KIND"
        )
    known = replace(cluster, pools=(*map(as_owner_sees, cluster.pools), *added))
    return Known(
        cluster=replace(known, classes=_classes(known.classes, driver)),
        nodes=nodes,
        specs=specs,
        waiting=objects.claims,
        added=dict(zip((pool.id.name for pool in added), kinds, strict=True)),
        driver=driver,
    )


def _objects(options: Namespace, face: Face) -> tuple[Objects, dict[ClaimRef, Claim]]:
    """Return what decides about claims, and what those that hold devices ask for."""
    if options.cluster:
        return _of_cluster(face.connect(options.kubeconfig, options.context))
    documents = read_files(options)
    claims = (one.content for one in documents if one.content.get("kind") == "ResourceClaim")
    held = (one for one in claims if (one.get("status") or {}).get("allocation"))
    return read_objects(documents), _specs(map(_spec, held))


def _of_cluster(cluster: ClusterReader) -> tuple[Objects, dict[ClaimRef, Claim]]:
    """Return the same of a running cluster. What this core cannot read is left out by name."""
    objects = cluster_objects(cluster)
    found = left_in(cluster.read("ResourceClaim", Reading(or_left_out(_held))))
    held = [one for one in found if one is not None]
    return replace(objects, allocated=tuple(one.claim for one in held)), _specs(one.spec for one in held)


class _Held(NamedTuple):
    """A claim that holds devices, and what it asks for, or why this cannot be read."""

    claim: AllocatedClaim
    spec: Claim | LeftOut


def _held(document: Mapping[str, Any]) -> _Held | None:
    claim = holding(document)
    return None if claim is None else _Held(claim, _spec(document))


def _classes(given: Mapping[str, DeviceClass], driver: str) -> dict[str, DeviceClass]:
    """Return the classes with those of Tangram's driver that nobody gave, and one of all devices."""
    own = map(decode_class, device_classes(driver))
    return {one.name: one for one in (*own, EVERY_DEVICE)} | dict(given)


_spec: Final = or_left_out(decode_claim)


def _specs(found: Iterable[Claim | LeftOut]) -> dict[ClaimRef, Claim]:
    """Return what claims that hold devices ask for, as far as this core reads it."""
    specs: dict[ClaimRef, Claim] = {}
    for one in found:
        if isinstance(one, LeftOut):
            complain(f"whether it fits elsewhere is not known: {one.reason}")
        else:
            specs[one.ref] = one
    return specs


def read_claims(paths: Sequence[str]) -> tuple[Claim, ...]:
    """Return the claims and templates of files. Raises: BadInput where there is none."""
    documents = [document for path in paths for document in read_documents(path)]
    claims = read_objects(documents).claims
    if not claims:
        raise BadInput(f"{', '.join(paths)}: no ResourceClaim or ResourceClaimTemplate without an allocation")
    return claims
