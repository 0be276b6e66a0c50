"""PURE: whether a claim's document that is on disk may stay, though another one would be written today.

A container of a claim must get the same when it is started again, so within a boot a document stays what it
is: after an update of the plugin, and when a service or an optional node of the driver appears later. It is
written anew only where it is damaged, or says of the hardware what is no longer true. The claim's record has
the checksum of its document, so whatever a version of the plugin wrote is known to be whole; records of
versions before that have none, and their documents must do what the wanted one does. Takes the bytes on disk
and the wanted document; returns a verdict. Nothing is read but what ``exists`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Final

import msgspec

from plugin.cdi.document import (
    FILE_OPTIONS,
    Device,
    Document,
    Edits,
    Mount,
    Node,
    checksum,
    encode,
    minimum_version,
)
from plugin.cdi.hook import JOINING, Hook

_OPTIONAL: Final = ("/dev/nvidia-modeset", "/dev/dri/")
"""Nodes without which a container computes: they may have come since."""

_DOCUMENTS: Final = msgspec.json.Decoder(Document)

Exists = Callable[[str], bool]
"""Whether the host has a path."""


def may_stay(on_disk: bytes, wanted: Document, exists: Exists, recorded: str | None = None) -> bool:
    """Whether a document is whole, and all that it names is there and is still what it was.

    Shape: ``recorded`` is the checksum of the document that was written for the same devices. One without it
           may stay if it does what the wanted one does.
    """
    found = _decoded(on_disk)
    if found is None or found.kind != wanted.kind or _names(found) != _names(wanted):
        return False
    is_known = recorded == checksum(on_disk)
    if not is_known and not _is_of_our_form(found, on_disk):
        return False
    agrees = _is_true if is_known else _does
    pairs = zip(found.devices, wanted.devices, strict=True)
    return all(agrees(_whole(found, one), _whole(wanted, other), exists) for one, other in pairs)


def _decoded(on_disk: bytes) -> Document | None:
    try:
        return _DOCUMENTS.decode(on_disk)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _is_of_our_form(found: Document, on_disk: bytes) -> bool:
    """Whether every byte is as this plugin, or an earlier version, writes it."""
    version = minimum_version(found.kind, found.devices, found.container_edits)
    return encode(found) == on_disk and found.cdi_version == version


def _names(found: Document) -> list[str]:
    return [device.name for device in found.devices]


def _whole(found: Document, device: Device) -> Edits:
    """Return what a container gets of one device, wherever it stands in the document."""
    common, own = found.container_edits, device.container_edits
    return Edits(
        env=(*common.env, *own.env),
        device_nodes=(*common.device_nodes, *own.device_nodes),
        mounts=(*common.mounts, *own.mounts),
        hooks=(*common.hooks, *own.hooks),
    )


def _is_true(found: Edits, wanted: Edits, exists: Exists) -> bool:
    """Whether what a document says of hardware and driver holds, whatever else would be written today."""
    nodes = {node.path: node for node in wanted.device_nodes}
    files = _files(found.mounts)
    return (
        all(exists(hook.path) for hook in found.hooks)
        and all(exists(mount.host_path) for mount in files)
        and all(one.path in nodes and _same_node(one, nodes[one.path], exists) for one in found.device_nodes)
        and _same_folders(found.mounts, wanted.mounts)
        and not _of_another_driver(files, _files(wanted.mounts))
    )


def _of_another_driver(found: Iterable[Mount], wanted: Iterable[Mount]) -> bool:
    """Whether the driver was replaced: the files of its libraries now have another version in their names."""
    names: dict[str, set[str]] = {}
    for mount in wanted:
        names.setdefault(_stem(mount.host_path), set()).add(_name(mount.host_path))
    pairs = ((_stem(mount.host_path), _name(mount.host_path)) for mount in found)
    return any(stem in names and name not in names[stem] for stem, name in pairs)


def _does(found: Edits, wanted: Edits, exists: Exists) -> bool:
    return (
        found.env == wanted.env
        and _joining(found.hooks) == _joining(wanted.hooks)
        and all(exists(hook.path) for hook in found.hooks)
        and _same_nodes(found.device_nodes, wanted.device_nodes, exists)
        and _same_folders(found.mounts, wanted.mounts)
        and _same_files(_files(found.mounts), _files(wanted.mounts), exists)
    )


def _joining(hooks: Iterable[Hook]) -> list[Hook]:
    """Return what brings devices into the pod; whether NVIDIA's program runs is an option of the plugin."""
    return [hook for hook in hooks if hook.hook_name == JOINING]


def _same_nodes(found: Iterable[Node], wanted: Iterable[Node], exists: Exists) -> bool:
    ours, theirs = {node.path: node for node in found}, {node.path: node for node in wanted}
    needed = {path for path in theirs if not path.startswith(_OPTIONAL)}
    return needed <= ours.keys() <= theirs.keys() and all(
        _same_node(node, theirs[path], exists) for path, node in ours.items()
    )


def _same_node(found: Node, wanted: Node, exists: Exists) -> bool:
    """Whether two descriptions mean one node: by its numbers, or by a path that still is there."""
    if found.major is None:
        return exists(found.host_path or found.path) and (
            wanted.major is not None or wanted.host_path == found.host_path
        )
    return wanted.major is None or (found.major, found.minor) == (wanted.major, wanted.minor)


def _same_folders(found: Iterable[Mount], wanted: Iterable[Mount]) -> bool:
    ours, theirs = (
        {mount for mount in mounts if mount.options not in FILE_OPTIONS} for mounts in (found, wanted)
    )
    return ours == theirs


def _files(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    return tuple(mount for mount in mounts if mount.options in FILE_OPTIONS)


def _same_files(found: Iterable[Mount], wanted: Iterable[Mount], exists: Exists) -> bool:
    """Whether the files are of the same driver, wherever a version of the plugin mounts which of them."""
    theirs = {mount.container_path: mount.host_path for mount in wanted}
    names = {_name(path) for pair in theirs.items() for path in pair}
    ours = tuple(found)
    return bool(ours) == bool(theirs) and all(
        exists(mount.host_path) and _is_of_driver(mount, theirs, names) for mount in ours
    )


def _is_of_driver(mount: Mount, places: Mapping[str, str], names: Set[str]) -> bool:
    """Whether a file is where it is wanted, or a library is where early versions had it: as on the host."""
    place, host_path = mount.container_path, mount.host_path
    if place in places:
        return places[place] == host_path
    stem = _stem(host_path)
    is_as_on_host = _folder(host_path).endswith(_folder(place)) and _stem(place) == stem
    return is_as_on_host and _name(host_path) in names and _name(place) in {*names, f"{stem}.so.1"}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _stem(path: str) -> str:
    return _name(path).partition(".so")[0]
