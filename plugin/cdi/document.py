"""PURE: prepared devices to the CDI document that a container runtime reads.

Takes what a container needs of each device; returns a document. Its version is the lowest that its fields
allow, because a runtime skips a document whose version it does not know. The document is checked against the
rules of the specification: the published JSON schema accepts nearly everything. Source: Container Device
Interface specification 1.1.0, its rules for names and minimum versions.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from agent.hardware.types import DeviceNode, HostFile
from plugin.base.errors import InvalidCdi
from plugin.cdi import names
from plugin.cdi.hook import HOOKS, Hook, cache_update

_MOUNT_OPTIONS: Final = ("ro", "nosuid", "nodev", "bind")
_SOCKET_OPTIONS: Final = ("ro", "nosuid", "nodev", "noexec", "bind")
FILE_OPTIONS: Final = frozenset({_MOUNT_OPTIONS, _SOCKET_OPTIONS})
"""How the driver's files are mounted; folders for writing have other options."""
_WRITABLE: Final = ("rw", "nosuid", "nodev", "bind")
# Keeps a runtime with hooks of its own from adding every GPU where the image asks for all of them.
_NOTHING_ELSE: Final = "NVIDIA_VISIBLE_DEVICES=void"
_VENDOR: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?", re.ASCII)
_CLASS_NAME: Final = _VENDOR
_DEVICE_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?", re.ASCII)
_ENVIRONMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\0\n]*", re.ASCII)


class Node(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A device node of a container. Without numbers the runtime uses those of the host's node."""

    path: str
    host_path: str | None = None
    type: str | None = None
    major: int | None = None
    minor: int | None = None


class Mount(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A file or folder of the host in a container."""

    host_path: str
    container_path: str
    options: tuple[str, ...] = ()


class Edits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """What is added to a container."""

    env: tuple[str, ...] = ()
    device_nodes: tuple[Node, ...] = ()
    mounts: tuple[Mount, ...] = ()
    hooks: tuple[Hook, ...] = ()


_NO_EDITS: Final = Edits()


class Device(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One device of a document; its full name is ``kind=name``."""

    name: str
    container_edits: Edits


class Document(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One file. Shape: device names unique, at least one; the document's own edits apply with each device."""

    cdi_version: str
    kind: str
    devices: tuple[Device, ...]
    container_edits: Edits


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """What a container gets with one prepared device.

    Shape: ``name`` within the document; ``device`` the node's name for it; ``identity`` its UUID, or
           those of its GPUs with commas between them; ``has_admin_access`` whether it is only to look at;
           ``told`` more variables, by the end of their name; ``folders`` those that programs write to;
           ``variables`` by their whole name; ``hook`` what brings it into the pod; ``shared_nodes`` and
           ``shared_files`` what other devices of the document need, too.
    """

    name: str
    device: str
    identity: str
    nodes: tuple[DeviceNode, ...]
    files: tuple[HostFile, ...]
    has_admin_access: bool = False
    told: tuple[tuple[str, str], ...] = ()
    folders: tuple[HostFile, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    hook: Hook | None = None
    shared_nodes: tuple[DeviceNode, ...] = ()
    shared_files: tuple[HostFile, ...] = ()


def claim_document(
    driver: str, injections: Sequence[Injection], cache_program: Path | None = None
) -> Document:
    """Return the document of one claim; what its devices share stands in it once.

    Shape: ``cache_program`` is NVIDIA's, on the host; None where none is to run.
    Raises: InvalidCdi naming the field, the value and the rule.
    """
    devices = tuple(_device(injection) for injection in injections)
    nodes = (_node(node) for injection in injections for node in injection.shared_nodes)
    files = dict.fromkeys(_file(file) for injection in injections for file in injection.shared_files)
    common = Edits(
        env=(_NOTHING_ELSE,),
        device_nodes=tuple(dict.fromkeys(nodes)),
        mounts=tuple(files),
        hooks=tuple(_hooks(files, cache_program)),
    )
    found = Document(
        cdi_version=minimum_version(names.kind(driver), devices, common),
        kind=names.kind(driver),
        devices=devices,
        container_edits=common,
    )
    _check(found)
    return found


def encode(found: Document) -> bytes:
    """Return the bytes of a document's file."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def checksum(content: bytes) -> str:
    """Return the SHA-256 of a document's bytes, in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def minimum_version(kind_name: str, devices: Sequence[Device], common: Edits = _NO_EDITS) -> str:
    """Return the lowest version of the specification that knows every field in use."""
    if "." in kind_name.partition("/")[2]:
        return "0.6.0"
    edits = (common, *(device.container_edits for device in devices))
    nodes = (node for each in edits for node in each.device_nodes)
    if any(node.host_path for node in nodes) or any(not device.name[:1].isalpha() for device in devices):
        return "0.5.0"
    return "0.3.0"


def environment_name(device: str, *, has_admin_access: bool = False) -> str:
    """Return the name of the variable that holds a device's UUID in a container.

    A program that computes on every device it is told of must not find those that it may only look at.
    """
    prefix = "TANGRAM_ADMIN_DEVICE_" if has_admin_access else "TANGRAM_DEVICE_"
    return prefix + re.sub(r"[^A-Z0-9]", "_", device.upper())


def _device(injection: Injection) -> Device:
    variable = environment_name(injection.device, has_admin_access=injection.has_admin_access)
    return Device(
        name=injection.name,
        container_edits=Edits(
            env=(
                f"{variable}={injection.identity}",
                *(f"{variable}_{name}={value}" for name, value in injection.told),
                *(f"{name}={value}" for name, value in injection.variables),
            ),
            device_nodes=tuple(_node(node) for node in injection.nodes),
            mounts=(
                *(_file(file) for file in injection.files),
                *(_mount(folder, _WRITABLE) for folder in injection.folders),
            ),
            hooks=(injection.hook,) if injection.hook is not None else (),
        ),
    )


def _hooks(files: Iterable[Mount], cache_program: Path | None) -> Iterator[Hook]:
    if cache_program is None:
        return
    paths = (file.container_path for file in files)
    folders = {path.rpartition("/")[0] for path in paths if ".so" in path}
    if folders:
        yield cache_update(cache_program, sorted(folders))


def _file(found: HostFile) -> Mount:
    return _mount(found, _SOCKET_OPTIONS if found.is_socket else _MOUNT_OPTIONS)


def _mount(found: HostFile, options: tuple[str, ...]) -> Mount:
    return Mount(host_path=str(found.host_path), container_path=found.path, options=options)


def _node(node: DeviceNode) -> Node:
    if node.host_path is None:
        return Node(path=node.path, type="c", major=node.major, minor=node.minor)
    host_path = str(node.host_path)
    return Node(path=node.path, host_path=None if host_path == node.path else host_path)


def _check(found: Document) -> None:
    vendor, _, class_name = found.kind.partition("/")
    _rule(_VENDOR.fullmatch(vendor), "kind", vendor, "its vendor must be a name that starts with a letter")
    _rule(_CLASS_NAME.fullmatch(class_name), "kind", class_name, "its class must start with a letter")
    _rule(found.devices, "devices", found.devices, "must not be empty")
    used = [device.name for device in found.devices]
    _rule(len(set(used)) == len(used), "devices", used, "names must be unique")
    _check_edits("containerEdits", found.container_edits)
    for device in found.devices:
        where = f"devices[{device.name}]"
        rule = "must be letters, digits and _.:- between letters or digits"
        _rule(_DEVICE_NAME.fullmatch(device.name), where, device.name, rule)
        _check_edits(where, device.container_edits)


def _check_edits(where: str, edits: Edits) -> None:
    for text in edits.env:
        _rule(_ENVIRONMENT.fullmatch(text), f"{where}.env", text, "must be NAME=value in one line")
    for node in edits.device_nodes:
        place = f"{where}.deviceNodes"
        _need_absolute(place, node.path, node.host_path or "/")
        numbers = (node.type, node.major, node.minor)
        rule = "type, major and minor go together"
        _rule(numbers.count(None) in {0, 3}, place, numbers, rule)
    for mount in edits.mounts:
        _need_absolute(f"{where}.mounts", mount.container_path, mount.host_path)
    for hook in edits.hooks:
        place = f"{where}.hooks"
        _rule(hook.hook_name in HOOKS, place, hook.hook_name, f"must be one of {', '.join(HOOKS)}")
        _need_absolute(place, hook.path)


def _need_absolute(place: str, path: str, host_path: str = "/") -> None:
    if path[:1] != "/" or "\0" in path:
        raise _wrong(place, path, "path must be absolute")
    if host_path[:1] != "/" or "\0" in host_path:
        raise _wrong(place, host_path, "hostPath must be absolute")


def _rule(holds: object, field: str, value: object, rule: str) -> None:
    if not holds:
        raise _wrong(field, value, rule)


def _wrong(field: str, value: object, rule: str) -> InvalidCdi:
    return InvalidCdi("write", "the CDI document", f"{field}: {value!r}: {rule}")
