"""``tangram report``: who holds what and who waits, as one HTML file that needs no network."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from controller.page.model import PageModel
from controller.page.value import About
from daemon.page.document import document
from tangram.cluster_options import add_cluster, check_cluster
from tangram.clusters import ClusterReader
from tangram.controlled.reading import read_controlled
from tangram.controlled.waiting import PodWaiting, waiting
from tangram.documents import read_documents
from tangram.errors import BadInput, bad_argument
from tangram.face import DONE, Face, Subparsers, add_command
from tangram.options import add_driver_name
from tangram.page.file_cluster import FileCluster
from tangram.pictures.counted import counted
from tangram.preparable import driver_of
from tangram.summaries import SUMMARIES

_STANDARD_OUTPUT: Final = "-"


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "report",
        SUMMARIES["report"],
        "tangram report --cluster --html report.html\n"
        "  kubectl get nodes,resourceslices,deviceclasses,resourceclaims,pods -A -o yaml > all.yaml\n"
        "  tangram report -f all.yaml --html report.html\n\n"
        "The file shows a cluster as it was: open it in any browser, send it, keep it.\n"
        "docs/web.md says what is on the page.",
        _run,
    )
    parser.add_argument("--html", metavar="FILE", help="write the page into this file, - for standard output")
    parser.add_argument(
        "-f",
        "--file",
        action="append",
        metavar="FILE",
        dest="files",
        help="objects of a cluster, as kubectl get -o yaml has them; - for standard input; may be repeated",
    )
    add_cluster(parser, "the objects of a running cluster")
    add_driver_name(parser, "Tangram's DRA driver: its devices are shown")


def _run(options: Namespace, face: Face) -> int:
    check_cluster(options, ("files",))
    if not (options.cluster or options.files):
        raise BadInput("report: say what to show: --cluster, or --file FILE")
    if not (options.html or options.json):
        raise bad_argument("--html", None, "must be given: the file for the page, or - for standard output")
    if options.html == _STANDARD_OUTPUT and options.json:
        raise bad_argument("--html", options.html, "must be a file where --json or -o prints the value")
    value = page_of(_reader(options, face), driver_of(options), _title(options))
    if options.html == _STANDARD_OUTPUT:
        face.out.text(document(value))
    elif options.html:
        Path(options.html).write_text(document(value), encoding="utf-8")
    if options.json:
        face.out.json(value)
    elif options.html != _STANDARD_OUTPUT:
        counts = f"{counted(len(value['nodes']), 'node')}, {counted(len(value['waiting']), 'waiting pod')}"
        face.out.text(f"wrote {options.html}: {counts}")
    return DONE


def _reader(options: Namespace, face: Face) -> ClusterReader:
    if options.cluster:
        return face.connect(options.kubeconfig, options.context)
    return FileCluster(document for path in options.files for document in read_documents(path))


def _title(options: Namespace) -> str:
    where = f"context {options.context}" if options.context else "the cluster"
    source = where if options.cluster else ", ".join(options.files)
    return f"{source} · driver {driver_of(options)}"


def page_of(cluster: ClusterReader, driver: str, title: str) -> dict[str, Any]:
    """Return the value of the page for a cluster that is read once. Raises: BadInput."""
    now = time.time()
    coordinator = read_controlled(cluster, driver, now)
    made = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    value = PageModel(coordinator.seen).value(About(title, made))
    # Deciding gives pods their devices in what is known, so it comes last.
    decided = {(one.pod.ref.namespace, one.pod.ref.name): _reason(one) for one in waiting(coordinator)}
    shown = [_with_reason(one, decided) for one in value["waiting"]]
    return {**value, "waiting": shown}


def _with_reason(pod: Mapping[str, Any], decided: Mapping[tuple[str, str], str]) -> Mapping[str, Any]:
    return {**pod, "reason": decided.get((pod["namespace"], pod["name"])) or pod["reason"]}


def _reason(one: PodWaiting) -> str:
    if one.is_served:
        return "has its devices; the controller removes its gate"
    return one.reason or f"gets devices on {one.node} as soon as the controller runs"
