"""The options that name a cluster, and its objects as documents with places."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from scheduler_core.codec.documents import Document
from tangram.clusters import ClusterReader
from tangram.errors import useless_option
from tangram.face import Parser


def add_cluster(parser: Parser, what: str) -> None:
    """Add ``--cluster`` and the options that say which one."""
    parser.add_argument("--cluster", action="store_true", help=what)
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="with --cluster; default: $KUBECONFIG, then ~/.kube/config",
    )
    parser.add_argument(
        "--context",
        metavar="NAME",
        help="with --cluster: a context of the kubeconfig; default: its current one",
    )


def check_cluster(options: Namespace, others: tuple[str, ...], own: tuple[str, ...] = ()) -> None:
    """Refuse options that do not go together.

    Shape: ``others`` name sources of their own, ``own`` mean nothing without a cluster.
    Raises: BadInput.
    """
    for name in others if options.cluster else ("kubeconfig", "context", *own):
        value = getattr(options, name)
        if value:
            option = "--file" if name == "files" else f"--{name.replace('_', '-')}"
            rule = "has no effect with --cluster" if options.cluster else "is for --cluster"
            raise useless_option(option, value, rule)


def documents_of(cluster: ClusterReader, kind: str, fields: str = "") -> Iterator[Document]:
    """Yield the objects of a kind, each with its place. Raises: BadInput."""
    for content in cluster.list(kind, fields):
        yield Document(f"cluster: {content['metadata']['name']}", content)
