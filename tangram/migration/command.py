"""``tangram migrate``: rewrites claims and pods that were written for other drivers and device plugins."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from scheduler_core.codec.documents import Document
from scheduler_core.frontends.migration.migrate import migrate
from scheduler_core.model.names import DEFAULT_DRIVER
from tangram.classes import device_classes
from tangram.errors import BadInput
from tangram.face import DOES_NOT_FIT, DONE, Face, Subparsers, add_command
from tangram.files import add_files, read_files
from tangram.migration.sriov import asked, network_resource
from tangram.program.streams import complain
from tangram.summaries import SUMMARIES


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "migrate",
        SUMMARIES["migrate"],
        "tangram migrate -f deploy/examples/migrate/nvidia-claims.yaml \\\n"
        "    -f deploy/examples/migrate/device-plugin-pods.yaml \\\n"
        "    --sriov openshift.io/rdma=vf.tangram.dev > tangram.yaml",
        _run,
    )
    what = "claims, templates, classes, pods, Deployments and the like, written for NVIDIA's drivers"
    add_files(parser, f"YAML or JSON with {what}", is_required=True)
    parser.add_argument(
        "--sriov",
        action="append",
        default=[],
        type=network_resource,
        metavar="RESOURCE=CLASS[,SELECTOR]",
        help="the class that stands for a resource of the SR-IOV device plugin, and a selector for its VFs; "
        "may be repeated",
    )


def _run(options: Namespace, face: Face) -> int:
    found = migrate(_read(options), asked(options.sriov), _classes())
    if options.json:
        documents = [one.content for one in found.documents]
        face.out.json({"documents": documents, "notCarriedOver": found.not_carried})
    else:
        face.out.documents([one.content for one in found.documents], as_json=False)
        for one in found.not_carried:
            complain(f"left as it was: {one}")
    return DOES_NOT_FIT if found.not_carried else DONE


def _read(options: Namespace) -> Sequence[Document]:
    """Read the files of the command. Raises: BadInput for what is no API object."""
    documents = read_files(options)
    for one in documents:
        if not isinstance(one.content.get("kind"), str):
            raise BadInput(f"{one.place}: kind: is required: only API objects are migrated")
    return documents


def _classes() -> Sequence[Document]:
    classes = device_classes(DEFAULT_DRIVER)
    return [Document(f"class {one['metadata']['name']}", one) for one in classes]
