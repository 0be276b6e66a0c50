"""Checks a node file beyond its form: addresses, references, uniqueness.

Takes a document; raises ``InvalidNodeFile`` for the first broken rule. MIG's rules are not checked here: the
machine's first state is made by the same rules as every later state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agent.hardware.simulated.errors import InvalidNodeFile
from agent.hardware.simulated.gpu_models import (
    MemoryOverride,
    gpu_models,
    load_model,
    profile_names,
)
from agent.hardware.simulated.nic_models import nic_models
from agent.hardware.simulated.schema import DataDirectForm, Document, GpuForm, MemoryForm, NicForm
from agent.hardware.simulated.tree import PortType, Site, shifted, sites
from agent.hardware.types import Bdf, normal_bdf
from scheduler_core.model.names import LABEL_RULE, is_label

_UUID: Final = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROOT_COMPLEX: Final = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
_UNDER: Final = re.compile(r"[A-Za-z0-9_:-][A-Za-z0-9_.:-]*(/[A-Za-z0-9_:-][A-Za-z0-9_.:-]*)*")
_CPUS: Final = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_CLASS: Final = re.compile(r"[0-9a-f]{6}")
_VERSION: Final = re.compile(r"\d+(\.\d+)+")
LAST_MINOR: Final = 31
"""The last GPU in the driver's table of capability minors."""

LAST_MODULE: Final = 255
"""More than any baseboard has."""

MOST_PARTITIONS: Final = 64
"""As many as the fabric manager's library has room for. Source: Fabric Manager User Guide."""

MOST_VFS: Final = 1024
"""Far more than any NIC has, so that a typing error does not fill the disk."""

_Problem = tuple[str, object, str]
"""Field, value, rule."""


def check(file: str, document: Document) -> None:
    """Check a document. Raises: InvalidNodeFile for the first broken rule."""
    for field, value, rule in _problems(document):
        raise InvalidNodeFile(file, field, value, rule)


def _problems(document: Document) -> Iterator[_Problem]:
    """Yield the problems. Later checks rely on earlier ones, so only the first problem is reliable."""
    yield from _head(document)
    yield from _numa(document)
    yield from _root_complexes(document)
    found = list(sites(document))
    yield from _spelling(found)
    yield from _gpus(found)
    yield from _nics(found)
    yield from _direct(found)
    yield from _unique(found)
    yield from _memory(document)
    yield from _fabric(document, found)


def _head(document: Document) -> Iterator[_Problem]:
    if not is_label(document.name):
        yield "name", document.name, LABEL_RULE
    if not document.topology:
        yield "topology", document.topology, "must be illustrative, or name the source of the tree"
    if document.driver is not None:
        for field in ("version", "cuda"):
            if not _VERSION.fullmatch(getattr(document.driver, field)):
                yield f"driver.{field}", getattr(document.driver, field), "must be numbers joined by dots"


def _numa(document: Document) -> Iterator[_Problem]:
    for at, node in enumerate(document.numa):
        if node.node != at:
            yield f"numa[{at}].node", node.node, f"nodes are numbered from 0 without gaps: must be {at}"
        if node.cpus and not _CPUS.fullmatch(node.cpus):
            yield f"numa[{at}].cpus", node.cpus, "must be CPU numbers and ranges such as 0-15,64-79"
        if len(node.distances) != len(document.numa):
            count = len(document.numa)
            yield f"numa[{at}].distances", len(node.distances), f"must be one per NUMA node, {count} here"


def _root_complexes(document: Document) -> Iterator[_Problem]:
    seen: set[str] = set()
    for at, form in enumerate(document.pci):
        name, field = form.root_complex, f"pci[{at}].root_complex"
        if not _ROOT_COMPLEX.fullmatch(name):
            yield field, name, "must be spelt as sysfs does, such as pci0000:3a"
        if name in seen:
            yield field, name, "is given twice"
        seen.add(name)
        if form.under and not _UNDER.fullmatch(form.under):
            yield f"pci[{at}].under", form.under, "must be folders of sysfs joined by /, none of them a dot"
        if form.numa_node is not None and not 0 <= form.numa_node < len(document.numa):
            yield f"pci[{at}].numa_node", form.numa_node, "must be one of the nodes under numa"


def _spelling(found: list[Site]) -> Iterator[_Problem]:
    for site in found:
        yield from _address(site.field, site.bdf)
        if site.port_type is PortType.ROOT_PORT:
            above = site.folder.split("/")[-2].removeprefix("pci")
            if not site.bdf.startswith(f"{above}:"):
                yield site.field, site.bdf, f"a root port of pci{above} lies on bus {above}"


def _address(field: str, text: str) -> Iterator[_Problem]:
    try:
        is_normal = normal_bdf(text) == text
    except ValueError:
        is_normal = False
    if not is_normal:
        yield field, text, "must be a PCI address such as 0000:3b:00.0, in lower case"


def _gpus(found: list[Site]) -> Iterator[_Problem]:
    for site in found:
        gpu, field = site.form, _above(site.field)
        if not isinstance(gpu, GpuForm):
            continue
        if gpu.model not in gpu_models():
            yield f"{field}.model", gpu.model, f"must be one of {', '.join(gpu_models())}"
        if not _UUID.fullmatch(gpu.uuid):
            yield f"{field}.uuid", gpu.uuid, "must be GPU- and a UUID in lower case"
        if not 0 <= gpu.minor <= LAST_MINOR:
            rule = f"must lie between 0 and {LAST_MINOR}; a GPU without one is the fault gpu-0:minor=-1"
            yield f"{field}.minor", gpu.minor, rule
        if gpu.module is not None and not 0 <= gpu.module <= LAST_MODULE:
            yield f"{field}.module", gpu.module, f"must lie between 0 and {LAST_MODULE}"


def _nics(found: list[Site]) -> Iterator[_Problem]:
    for site in found:
        nic, field = site.form, _above(site.field)
        if not isinstance(nic, NicForm):
            continue
        if nic.model not in nic_models():
            yield f"{field}.model", nic.model, f"must be one of {', '.join(nic_models())}"
        if not 0 <= nic.total_vfs <= MOST_VFS:
            yield f"{field}.total_vfs", nic.total_vfs, f"must lie between 0 and {MOST_VFS}"
        if not 0 <= nic.vfs <= nic.total_vfs:
            yield f"{field}.vfs", nic.vfs, f"must lie between 0 and total_vfs, {nic.total_vfs} here"
        if nic.first_vf is not None:
            yield from _address(f"{field}.first_vf", nic.first_vf)
        if nic.kernel_links and nic.link != "ethernet":
            yield f"{field}.kernel_links", nic.kernel_links, f"is for ethernet alone; the link is {nic.link}"
        if nic.pci_class is not None and not _CLASS.fullmatch(nic.pci_class):
            yield f"{field}.pci_class", nic.pci_class, "must be six hex digits in lower case, such as 020000"
        yield from _last_vf(f"{field}.total_vfs", site.bdf, nic)


def _direct(found: list[Site]) -> Iterator[_Problem]:
    nics = {site.bdf for site in found if isinstance(site.form, NicForm)}
    for site in found:
        if isinstance(site.form, DataDirectForm) and site.form.nic not in nics:
            yield f"{_above(site.field)}.nic", site.form.nic, "must be the address of a NIC of the node"


def _last_vf(field: str, pf: Bdf, nic: NicForm) -> Iterator[_Problem]:
    try:
        shifted(Bdf(nic.first_vf or pf), nic.total_vfs)
    except ValueError:
        yield field, nic.total_vfs, "the last VF would lie beyond bus ff"


def _unique(found: list[Site]) -> Iterator[_Problem]:
    owners: dict[object, str] = {}
    for site in found:
        for field, value in _identities(site):
            key = value if isinstance(value, str) else (field.rpartition(".")[2], value)
            if key in owners:
                rule = f"is given twice, first at {owners[key]}"
                if field.endswith(".uuid"):
                    rule += "; a driver that answers one UUID for two GPUs is the fault gpu-1:uuid=UUID"
                yield field, value, rule
            owners[key] = field


def _identities(site: Site) -> Iterator[tuple[str, str | int]]:
    yield site.field, site.bdf
    form, field = site.form, _above(site.field)
    if isinstance(form, GpuForm):
        yield f"{field}.uuid", form.uuid
        yield f"{field}.minor", form.minor
        if form.module is not None:
            yield f"{field}.module", form.module
    if isinstance(form, NicForm):
        first, by = (Bdf(form.first_vf), 0) if form.first_vf else (site.bdf, 1)
        for index in range(form.total_vfs):
            yield f"{field}.total_vfs", shifted(first, by + index)


def _memory(document: Document) -> Iterator[_Problem]:
    used = {site.form.model for site in sites(document) if isinstance(site.form, GpuForm)}
    for name, override in document.memory.items():
        if name not in used:
            yield f"memory.{name}", None, "names a model that no GPU of the node has"
            continue
        known = profile_names(name)
        for profile in override.profiles_mib:
            if profile not in known:
                yield f"memory.{name}.profiles_mib", profile, f"must be one of {', '.join(known)}"
        for figure in ("total_mib", "multiprocessors"):
            if (value := getattr(override, figure)) is not None and value <= 0:
                rule = "must be above 0; a driver that answers 0 is the fault gpu-0:memory-mib=0"
                yield f"memory.{name}.{figure}", value, rule
    for name in sorted(used):
        given = document.memory.get(name, MemoryForm()).total_mib
        model = load_model(name, MemoryOverride(total_mib=given))
        if model.memory_bytes is None and model.has_memory:
            yield f"memory.{name}.total_mib", None, "must be given: no source has this model's memory"


def _fabric(document: Document, found: list[Site]) -> Iterator[_Problem]:
    if document.fabric is None:
        return
    if document.driver is None:
        yield "fabric", None, "needs a driver: the fabric manager works with it"
    modules = {site.form.module for site in found if isinstance(site.form, GpuForm)} - {None}
    ids: set[int] = set()
    for at, partition in enumerate(document.fabric.partitions):
        field = f"fabric.partitions[{at}]"
        if not 0 <= partition.id < MOST_PARTITIONS or partition.id in ids:
            rule = f"must be given once and lie between 0 and {MOST_PARTITIONS - 1}"
            yield f"{field}.id", partition.id, rule
        ids.add(partition.id)
        if not partition.modules or len(set(partition.modules)) < len(partition.modules):
            yield f"{field}.modules", None, "must name each of its GPUs once, and at least one"
        for module in partition.modules:
            if module not in modules:
                yield f"{field}.modules", module, "is the module of no GPU of the node"


def _above(field: str) -> str:
    return field.rpartition(".")[0]
