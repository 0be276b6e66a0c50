"""One claim of a running cluster as a question to the core: the claim, and everything the answer depends on.

Reads an API server and returns an allocation input. The claim is asked about as if it were not allocated;
what it has been allocated is returned separately. Objects of other drivers that this core cannot read are
left out, and their names are printed.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from scheduler_core.base.errors import CoreError
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.claims import decode_allocated_claim
from scheduler_core.codec.documents import Document
from scheduler_core.model.claim import AllocatedClaim, ClaimRef
from scheduler_core.planning.offered import as_owner_sees
from scheduler_core.state.cluster_state import ClusterState
from tangram.allocation_input import AllocationInput, nodes_of
from tangram.clusters import ConnectedCluster, Reading
from tangram.errors import BadInput, bad_argument
from tangram.face import Face
from tangram.objects import read_objects
from tangram.program.streams import complain

_NAME_FIELD: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class ClaimFound:
    """A claim in its cluster. Shape: ``held`` is what it has been allocated, None where nothing."""

    cluster: ConnectedCluster
    document: Mapping[str, Any]
    ref: ClaimRef
    held: AllocatedClaim | None


def find_claim(options: Namespace, face: Face) -> ClaimFound:
    """Find the claim of ``--cluster --claim [NS/]NAME``. Raises: BadInput."""
    *before, name = (options.claim or "").split("/")
    if not name or before == [""] or len(before) > 1:
        rule = "must be NAME or NAMESPACE/NAME, and is needed with --cluster"
        raise bad_argument("--claim", options.claim, rule)
    cluster = face.connect(options.kubeconfig, options.context)
    namespace = before[0] if before else cluster.usual_namespace()
    claim = cluster.get("ResourceClaim", name, namespace)
    return ClaimFound(cluster, claim, ClaimRef(namespace, name), decode_allocated_claim(claim))


def read_question(found: ClaimFound, wanted: str | None) -> AllocationInput:
    """Read what the answer for a claim depends on.

    Shape: nodes are the one that is wanted, or that the claim is allocated on, else all that have devices.
    Raises: BadInput.
    """
    from tangram.cluster_objects import (  # noqa: PLC0415 - files need none of it
        cluster_objects,
        holding,
        left_in,
        or_left_out,
    )

    cluster = found.cluster
    asked = read_objects([Document(f"cluster: {found.ref}", {**found.document, "status": {}})])
    others = left_in(cluster.read("ResourceClaim", Reading(or_left_out(holding))))
    allocated = tuple(one for one in others if one is not None and one.ref != found.ref)
    objects = replace(cluster_objects(cluster), claims=asked.claims, allocated=allocated)
    known = objects.cluster()
    if found.held is not None:  # who gave it devices may be the controller, whose taint keeps only others off
        known = replace(known, pools=tuple(map(as_owner_sees, known.pools)))
    nodes = nodes_of(wanted or _node_of(found.document), objects, known.pools)
    return AllocationInput(objects, known, ClusterState.of(known), nodes)


def readable(
    documents: Iterable[Document], decode: Callable[[Mapping[str, Any]], object]
) -> Iterator[Document]:
    """Yield the objects that can be decoded; the names of the others are printed."""
    for document in documents:
        try:
            decode(document.content)
        except CoreError as error:
            complain(f"left out, {error}")
        else:
            yield document


def _node_of(claim: Mapping[str, Any]) -> str | None:
    """Return the node that an allocation is bound to, None where it is not bound to one by name."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    for term in (allocation.get("nodeSelector") or {}).get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == _NAME_FIELD and len(field.get("values") or ()) == 1:
                return str(field["values"][0])
    return None


def check_files(options: Namespace) -> None:
    """Refuse a question that is asked nowhere. Raises: BadInput."""
    if not options.files and not options.cluster:
        raise BadInput("explain: say what to explain: pod/NAME, claim/NAME, or --file FILE")
