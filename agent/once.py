"""What an agent would publish of a node, written as files: ``tangram agent --once``.

Takes what one look found; returns slices in both forms and writes them. No API server is asked, so nothing
depends on one: the slices are those of a server that accepts everything, without an owner and without the
mark of an allocator, and no GPU belongs to a pool of several nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, TextIO

import yaml

from agent.inventory.model import NodeDevices
from agent.publishing.forms import Form, Found, Verdict, documents
from agent.publishing.taints.composite import taints_of, with_taints
from agent.slices import composite_slices, encoded
from scheduler_core.publishing.documents import Document

STDOUT: Final = "-"


def slices_of(found: Found, *, composite: bool) -> tuple[Document, ...]:
    """Return the ResourceSlices of a look, and the CompositeResourceSlices after them where they are wanted.

    Raises: CannotProject.
    """
    tainted = with_taints(found.devices, taints_of(found.devices, found.in_the_way, found.health))
    more = encoded(composite_slices(tainted)) if composite else ()
    return (*documents(found, Verdict(Form.SEPARATE)), *more)


def remarks_of(devices: NodeDevices) -> Iterator[str]:
    """Yield a sentence about everything on the node that is not in the slices."""
    yield from (f"not offered: {one.device}: {one.reason}" for one in devices.withheld)
    yield from (f"not published: {sentence}" for sentence in devices.left_out)


def write(slices: Iterable[Document], output: str, out: TextIO) -> None:
    """Write slices to ``out`` where ``output`` is ``-``, else a file for each into that folder.

    Raises: OSError, also where the folder has files: they might be taken for slices of this node.
    """
    if output == STDOUT:
        out.write(_text(slices))
        return
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"write slices into {folder}: it is not empty; name an empty or a new folder")
    for one in slices:
        path = folder / f"{one['kind'].lower()}-{one['metadata']['name']}.yaml"
        path.write_text(_text([one]), encoding="utf-8")


def _text(slices: Iterable[Document]) -> str:
    return yaml.dump_all(
        map(dict, slices),
        Dumper=yaml.CSafeDumper,
        sort_keys=False,
        explicit_start=True,
        allow_unicode=True,
    )
