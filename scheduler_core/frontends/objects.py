"""Documents to what the core works on: pools, classes, claims, nodes.

The ``kind`` of a document says which object it is, and the fields of a slice say which dialect it is in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Final, TypeVar

from scheduler_core.base.errors import message
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import composite, v1
from scheduler_core.codec.claims import decode_allocated_claim, decode_claim, decode_class
from scheduler_core.codec.documents import (
    Document,
    InvalidDocument,
    decode_node,
    decoded,
    is_composite_slice,
)
from scheduler_core.codec.fields import subject_of
from scheduler_core.codec.reserved import reserved_for
from scheduler_core.dialects.mixins import pools as composite_pools
from scheduler_core.frontends.multi_node import pool_object
from scheduler_core.frontends.multi_node.pool_object import PoolObject, read_pool
from scheduler_core.frontends.multi_node.trial import TriedPool, tried_pools
from scheduler_core.frontends.occupancy.naming import nodes_text
from scheduler_core.frontends.partitions import device_value
from scheduler_core.frontends.partitions.device_value import DeviceObject
from scheduler_core.model.claim import AllocatedClaim, Claim, ClaimRef, DeviceClass
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.composite import CompositeSlice
from scheduler_core.model.device import DeviceName
from scheduler_core.model.names import DEFAULT_DRIVER
from scheduler_core.model.nodes import NOWHERE, Matching, Node, NodeSelection, OnNode, Operator, admits
from scheduler_core.model.ownership import MULTI_NODE
from scheduler_core.model.pool import Pool
from scheduler_core.state.cluster_state import effective

_DRA: Final = tuple(f"resource.k8s.io/{version}" for version in ("v1", "v1beta2", "v1beta1", "v1alpha3"))
_VERSIONS: Final = {
    "ResourceSlice": _DRA,
    composite.KIND: (composite.API_VERSION,),
    "DeviceClass": _DRA,
    "ResourceClaim": _DRA,
    "ResourceClaimTemplate": _DRA,
    "Node": ("v1",),
    pool_object.KIND: (pool_object.API_VERSION,),
    device_value.KIND: (device_value.API_VERSION,),
    "Pod": ("v1",),
}
KINDS: Final = tuple(_VERSIONS)
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"

Decoded = (
    CompositeSlice
    | v1.V1Slice
    | DeviceClass
    | Claim
    | AllocatedClaim
    | Node
    | PoolObject
    | DeviceObject
    | Document
)
"""What a document says. A Pod stays a document: what it holds is read beside the pools."""

_One = TypeVar(
    "_One", CompositeSlice, v1.V1Slice, Claim, AllocatedClaim, Node, PoolObject, DeviceObject, Document
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """What documents describe.

    Shape: each in the order of the documents; ``classes`` by name. The slices that MultiNodePools become
           are among the slices, in place of others of their pools.
    """

    composite_slices: tuple[CompositeSlice, ...] = ()
    v1_slices: tuple[v1.V1Slice, ...] = ()
    classes: Mapping[str, DeviceClass] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    allocated: tuple[AllocatedClaim, ...] = ()
    nodes: tuple[Node, ...] = ()
    multi_node: tuple[TriedPool, ...] = ()
    reported: tuple[DeviceObject, ...] = ()
    pods: tuple[Document, ...] = ()

    def pools(self) -> tuple[Pool, ...]:
        """Return the pools that the slices form, and what Koordinator reports.

        Where both dialects have a pool of one name, the one that ``ClusterState`` uses.
        """
        by_composite = {pool.id: pool for pool in composite_pools(self.composite_slices)}
        by_v1 = {pool.id: pool for pool in v1.pools(self.v1_slices)}
        found = (effective(by_composite.get(one), by_v1.get(one)) for one in {**by_composite, **by_v1})
        slices = (pool for pool in found if pool is not None)
        unpublished = (one.unpublished for one in self.multi_node)
        return (
            *slices,
            *(pool for pool in unpublished if pool is not None),
            *(one.pool for one in self.reported),
        )

    def cluster(self) -> Cluster:
        """Return the pools, the classes, and what claims and running pods hold.

        Raises: InvalidDocument for a pod with a bad annotation.
        """
        pools = self.pools()
        allocated = (*self.allocated, *_held_by_pods(self.pods, pools))
        return Cluster(pools=pools, classes=self.classes, allocated=allocated)

    def problems(self) -> tuple[str, ...]:
        """Return why entries of slices are not used: each of them breaks a rule of its own."""
        return tuple(self._problems())

    def _problems(self) -> Iterator[str]:
        for one in self.composite_slices:
            if one.problem:
                yield one.problem
            yield from one.broken_mixins.values()
            yield from one.broken_devices.values()
        for v1_slice in self.v1_slices:
            yield from v1_slice.broken.values()

    def nodes_to_try(self, pools: Iterable[Pool], wanted: str | None = None) -> tuple[Node, ...]:
        """Return the nodes in the order of trying: the Node objects, then others that the pools name.

        Shape: with ``wanted`` that node alone, known or not.
        """
        known = {node.name: node for node in self.nodes}
        if wanted is not None:
            return (known.get(wanted, _bare(wanted)),)
        for name in sorted(_named(pools, self.nodes)):
            known.setdefault(name, _bare(name))
        return tuple(known.values())

    def missing_nodes(self) -> Iterator[str]:
        """Yield what is not known of the nodes from which devices can be used, as sentences.

        A selection by labels means nothing without the Node objects that have them.
        """
        pools = self.pools()
        nodes = self.nodes_to_try(pools)
        for pool in pools:
            by_labels = [
                (selection, devices)
                for selection, devices in _selections(pool).items()
                if isinstance(selection, Matching)
                and selection != NOWHERE
                and not any(admits(selection, node) for node in nodes)
            ]
            if by_labels:
                count = sum(len(devices) for _, devices in by_labels)
                what = f"{count} of {len(pool.devices)} devices can be used from no node that is known here"
                selection, devices = by_labels[0]
                first = f"{devices[0]} from {nodes_text([selection])}"
                yield f"pool {pool.id}: {what}, as {first}: add the nodes (kubectl get nodes -o yaml)"
        of_no_node = [pool for pool in pools if pool.id.name.startswith(MULTI_NODE)]
        known = {node.name for node in self.nodes}
        unknown = sorted(_named(of_no_node, self.nodes) - known) if known else []
        if unknown:
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            yield f"devices name {', '.join(unknown[:3])}{more}, and no file has a Node of that name"


def decode_objects(documents: Iterable[Document], driver: str = DEFAULT_DRIVER) -> Objects:
    """Decode every document. Raises: InvalidDocument naming place, object, field, value and rule.

    Shape: ``driver`` is our own, whose devices of several nodes are GPUs that nodes publish otherwise.
    """
    found: list[Decoded] = []
    places: dict[str, str] = {}
    slices: list[tuple[v1.V1Slice, Document]] = []
    for document in documents:
        found.append(decode_object(document, driver))
        if isinstance(found[-1], v1.V1Slice):
            slices.append((found[-1], document))
        name = subject_of(document.content, str(document.content["kind"]))
        if _has_name(document) and places.setdefault(name, document.place) != document.place:
            raise InvalidDocument(document.place, f"{name}: is given twice, first at {places[name]}")
    objects = Objects(
        composite_slices=_of(CompositeSlice, found),
        v1_slices=_of(v1.V1Slice, found),
        classes={one.name: one for one in found if isinstance(one, DeviceClass)},
        claims=_of(Claim, found),
        allocated=_of(AllocatedClaim, found),
        nodes=_of(Node, found),
        reported=_of(DeviceObject, found),
        pods=_of(Document, found),
    )
    pools = _of(PoolObject, found)
    return with_multi_node_pools(objects, pools, slices) if pools else objects


def with_multi_node_pools(
    objects: Objects, pools: Sequence[PoolObject], slices: Iterable[tuple[v1.V1Slice, Document]]
) -> Objects:
    """Return objects with what would become of MultiNodePools. Shape: ``slices`` as read and as written."""
    stored = [
        document.content if one.name else {**document.content, "metadata": {"name": ""}}
        for one, document in slices
        if one.pool.name.startswith(MULTI_NODE)
    ]
    others = {pool.id: pool for pool in objects.pools()}
    tried = tried_pools(pools, stored, others, objects.allocated)
    names = {one.object.pool_name for one in tried}
    published = (v1.decode_slice(slice_) for one in tried for slice_ in one.slices)
    return replace(
        objects,
        # Only the controller writes pools of these names, and never in the composite dialect.
        composite_slices=tuple(one for one in objects.composite_slices if one.pool.name not in names),
        v1_slices=(*(one for one in objects.v1_slices if one.pool.name not in names), *published),
        multi_node=tried,
    )


def decode_object(document: Document, driver: str = DEFAULT_DRIVER) -> Decoded:
    """Decode one document. Raises: InvalidDocument, also for a kind or a version that is not read here."""
    content = document.content
    _check_version(document)
    match content.get("kind"):
        case "ResourceSlice" | composite.KIND if is_composite_slice(content):
            return decoded(document, composite.decode_slice)
        case "ResourceSlice":
            return decoded(document, v1.decode_slice)
        case "DeviceClass":
            return decoded(document, decode_class)
        case "ResourceClaim" | "ResourceClaimTemplate":
            held = decoded(document, decode_allocated_claim)
            return held if held is not None else decoded(document, decode_claim)
        case "Node":
            return decoded(document, decode_node)
        case "Pod":
            return document
        case pool_object.KIND:
            pool = decoded(document, lambda written: read_pool(written, driver))
            if pool.composite is None:  # not even which devices it has
                raise InvalidDocument(document.place, str(pool.content))
            return pool
        case device_value.KIND:
            from scheduler_core.frontends.pods.device_object import decode_device  # few files have one

            return decoded(document, decode_device)
        case kind:
            raise InvalidDocument(
                document.place, message("kind", "", kind, f"must be one of {', '.join(KINDS)}")
            )


def pods_by_claim(documents: Iterable[Document]) -> Mapping[ClaimRef, tuple[str, ...]]:
    """Return the names of the pods that use each claim; an annotated pod uses what it holds itself.

    Raises: InvalidDocument for a bad ``status.reservedFor``.
    """
    found: dict[ClaimRef, tuple[str, ...]] = {}
    for document in documents:
        match document.content.get("kind"):
            case "ResourceClaim":
                ref, names = decoded(document, reserved_for)
                found[ref] = names
            case "Pod":
                metadata = document.content.get("metadata") or {}
                name = str(metadata.get("name"))
                found.setdefault(ClaimRef(str(metadata.get("namespace") or "default"), name), (name,))
            case _:
                pass
    return found


def _held_by_pods(pods: Sequence[Document], pools: Sequence[Pool]) -> list[AllocatedClaim]:
    if not pods:
        return []
    from scheduler_core.frontends.pods.allocated import held_by  # few files have pods

    held = (decoded(one, lambda content: held_by(content, pools)) for one in pods)
    return [one for one in held if one is not None]


def _of(kind: type[_One], found: Sequence[Decoded]) -> tuple[_One, ...]:
    return tuple(one for one in found if isinstance(one, kind))


def _has_name(document: Document) -> bool:
    """Whether the object has a name; the slices that KEP-4815 prints have none."""
    metadata = document.content.get("metadata")
    return isinstance(metadata, Mapping) and bool(metadata.get("name"))


def _check_version(document: Document) -> None:
    """Refuse a version that is not read here: its fields may mean something else. None given is fine."""
    kind, version = document.content.get("kind"), document.content.get("apiVersion")
    known = _VERSIONS.get(str(kind), ())
    if known and version is not None and version not in known:
        rule = f"must be one of {', '.join(known)}"
        raise InvalidDocument(document.place, message(str(kind), "apiVersion", version, rule))


def _named(pools: Iterable[Pool], known: Iterable[Node]) -> set[str]:
    """Return the names of the nodes that pools and devices name, by name or by the label with it."""
    hosts = {
        node.labels.get(HOSTNAME_LABEL) for node in known
    }  # a node may be called otherwise than its host
    names: set[str] = set()
    for nodes in {nodes for pool in pools for nodes in (*pool.seen_from, *_selections(pool))}:
        match nodes:
            case OnNode(name=name):
                names.add(name)
            case Matching(requirements=requirements):
                for one in requirements:
                    if one.operator is Operator.IN and (one.is_field or one.key == HOSTNAME_LABEL):
                        names.update(set(one.values) if one.is_field else set(one.values) - hosts)
            case _:
                pass
    return names


def _selections(pool: Pool) -> Mapping[NodeSelection, list[DeviceName]]:
    """Return the devices of a pool by the nodes from which they can be used."""
    found: dict[NodeSelection, list[DeviceName]] = {}
    for device in pool.devices:
        found.setdefault(device.nodes, []).append(device.name)
    return found


def _bare(name: str) -> Node:
    """Return a node of which only the name is known, with the label that kubelets derive from it."""
    return Node(name, {HOSTNAME_LABEL: name})
