"""What still names NVIDIA's drivers or the SR-IOV operator after a migration: all of it is told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.frontends.migration.claims import CLAIM_KINDS
from scheduler_core.frontends.migration.names import COMPUTE_DOMAIN, GPU_CLASS
from scheduler_core.frontends.migration.pods import PATHS
from scheduler_core.frontends.migration.values import Notes, mapping
from scheduler_core.model.names import DEFAULT_DRIVER

_NAME: Final = re.compile(r"(?:requests\.|limits\.)?(?:[a-z0-9-]+\.)*nvidia\.com(?:/\S*)?")
_QUOTED: Final = re.compile(r"""["'](?:[a-z0-9-]+\.)*nvidia\.com["'/]""")
_MAY_STAY: Final = frozenset(
    (
        "metadata",
        "nodeSelector",
        "affinity",
        "tolerations",
        "topologySpreadConstraints",
        "extendedResourceName",
    )
)
"""Fields with labels and taints of nodes, which stay, and the name that a class has for the old resource."""
_NO_PLACE: Final = frozenset(("Node", "CustomResourceDefinition"))
_GROUPS: Final[Mapping[str, str]] = {
    "resource.nvidia.com": COMPUTE_DOMAIN,
    "nvidia.com": "the GPU operator's: settings of nodes are in the policy file; see docs/policy.md",
    "mig-parted.nvidia.com": "nobody cuts GPUs beforehand here; a fixed layout is migLayout of the policy",
    "sriovnetwork.openshift.io": (
        "the SR-IOV operator's: VfConfig of a claim or class has the settings of VFs, "
        "their number is in the policy file"
    ),
}
_READ_KINDS: Final = (*CLAIM_KINDS, *PATHS)
_QUOTA: Final = f"{GPU_CLASS}.deviceclass.resource.k8s.io/devices"
_RESOURCE_NAME: Final = "k8s.v1.cni.cncf.io/resourceName"


def note_leftovers(obj: Mapping[str, Any], notes: Notes) -> None:
    """Note each field that still has a foreign name and is not noted yet."""
    kind = str(obj.get("kind"))
    group = str(obj.get("apiVersion")).rpartition("/")[0]
    if group in _GROUPS:
        notes.add("", _GROUPS[group])
    elif kind == "NetworkAttachmentDefinition":
        _note_attachment(obj, notes)
    elif kind not in _NO_PLACE:
        for path, name in _names(obj, ""):
            if not notes.covers(path):
                notes.add(path, _reason(kind, name))


def _note_attachment(obj: Mapping[str, Any], notes: Notes) -> None:
    if _RESOURCE_NAME in mapping(mapping(obj.get("metadata")).get("annotations")):
        reason = (
            f"{_RESOURCE_NAME}: Multus finds the VFs of claims only with --multus-resource; see docs/kinds.md"
        )
        notes.add("metadata.annotations", reason)


def _reason(kind: str, name: str) -> str:
    if kind == "ResourceSlice":
        return f"{name}: slices are written by the driver of the node"
    if kind in ("ResourceQuota", "LimitRange"):
        return f"{name}: claims are counted by class, such as {_QUOTA}"
    if kind in _READ_KINDS:
        return f"{name}: stays as it was; nothing here reads it"
    return f"{name}: objects of kind {kind} are not read: change it by hand"


def _names(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path of every key and text that is a foreign name, or quotes one, and that name."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in _MAY_STAY or (key == "parameters" and value.get("driver") == DEFAULT_DRIVER):
                continue
            if _NAME.fullmatch(str(key)):
                yield path, str(key)
            yield from _names(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _names(inner, f"{path}[{index}]")
    elif isinstance(value, str):
        found = _NAME.fullmatch(value) or _QUOTED.search(value)
        if found:
            yield path, found[0].strip("\"'/")
