"""Files to resource classes, nodes with devices, and who holds what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.frontends.classes import documents as class_documents
from scheduler_core.frontends.classes.documents import decode_class_objects
from scheduler_core.frontends.classes.placement import ClassPlacement
from scheduler_core.frontends.classes.published_devices import PublishedDevices
from scheduler_core.frontends.objects import KINDS
from scheduler_core.model.cluster import Cluster
from scheduler_core.state.cluster_state import ClusterState
from tangram.errors import BadInput
from tangram.objects import read_objects

CLASS_KINDS: Final = (*class_documents.KINDS, *KINDS)


def read_class_input(documents: Sequence[Document]) -> ClassPlacement:
    """Return what files say. Raises: BadInput naming file, object, field, value and rule."""
    others = [one for one in documents if one.content.get("kind") not in class_documents.KINDS]
    objects = read_objects(others)
    try:
        cluster = Cluster(pools=objects.pools(), classes={}, allocated=objects.allocated)
        published = PublishedDevices.of(ClusterState.of(cluster))
        mine = decode_class_objects(documents, published.by_node)
    except InvalidDocument as error:
        raise BadInput(str(error)) from error
    return ClassPlacement(mine, published, objects.allocated)
