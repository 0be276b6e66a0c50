"""What ``tangram validate`` judges, and what it compares that with: files, and the objects of a cluster.

Of a cluster the slices and classes count, except those that a file has under the same name. Without files the
claims of the cluster are judged. Nothing of the cluster itself is found to be wrong but these claims.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import v1
from scheduler_core.codec.claims import decode_class
from scheduler_core.codec.documents import Document
from scheduler_core.codec.fields import subject_of
from tangram.cluster_options import check_cluster, documents_of
from tangram.cluster_question import readable
from tangram.clusters import ClusterReader
from tangram.errors import BadInput
from tangram.face import Face
from tangram.files import read_files


@dataclass(frozen=True, slots=True)
class ValidatedInput:
    """Documents with places that differ. Shape: ``judged`` is asked about, ``known`` counts too."""

    judged: Sequence[Document]
    known: Sequence[Document] = ()


def read_input(options: Namespace, face: Face) -> ValidatedInput:
    """Read the files of a command, and its cluster where it names one. Raises: BadInput."""
    check_cluster(options, others=())
    files = read_files(options)
    if not options.cluster:
        if not options.files:
            raise BadInput("validate: say what to judge: --file FILE, or --cluster for the cluster's claims")
        return ValidatedInput(files)
    cluster = face.connect(options.kubeconfig, options.context)
    given = {_subject(document) for document in files}
    known = [document for document in _context(cluster) if _subject(document) not in given]
    return ValidatedInput(files if options.files else list(_claims(cluster)), known)


def _context(cluster: ClusterReader) -> Iterator[Document]:
    for kind, decode in (("ResourceSlice", v1.decode_slice), ("DeviceClass", decode_class)):
        for document in readable(documents_of(cluster, kind), decode):
            yield Document(f"{document.place} ({kind})", document.content)


def _claims(cluster: ClusterReader) -> Iterator[Document]:
    for content in cluster.list("ResourceClaim"):
        metadata = content["metadata"]
        yield Document(f"cluster: {metadata['namespace']}/{metadata['name']}", content)


def _subject(document: Document) -> str:
    return subject_of(document.content, str(document.content.get("kind")))
