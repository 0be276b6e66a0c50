"""A CDI document in short: what each device brings into a container."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group
from rich.text import Text

from tangram.pictures.counted import counted


def cdi_picture(documents: Mapping[str, Mapping[str, Any]]) -> Group:
    """Draw documents by file name; the paths are those in the container."""
    return Group(*(line for name, document in documents.items() for line in _document(name, document)))


def _document(name: str, document: Mapping[str, Any]) -> Iterator[Text]:
    head = Text().append(name, style="bold")
    yield head.append(f"  {document['kind']}, CDI {document['cdiVersion']}", style="dim")
    yield from _edits(document.get("containerEdits", {}), "  ")
    for device in document["devices"]:
        yield Text(f"  {device['name']}", style="bold green")
        yield from _edits(device["containerEdits"], "    ")


def _edits(edits: Mapping[str, Any], indent: str) -> Iterator[Text]:
    for setting in edits.get("env", ()):
        yield Text(f"{indent}env    {setting}")
    nodes = [node["path"] for node in edits.get("deviceNodes", ())]
    if nodes:
        yield Text(f"{indent}nodes  {', '.join(nodes)}")
    mounts = [mount["containerPath"] for mount in edits.get("mounts", ())]
    if mounts:
        files = counted(len(mounts), "driver file")
        yield Text(f"{indent}mounts {files}: {mounts[0]}" + (f" … {mounts[-1]}" if len(mounts) > 1 else ""))
