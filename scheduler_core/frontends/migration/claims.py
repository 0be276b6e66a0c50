"""ResourceClaims, ResourceClaimTemplates and DeviceClasses of NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from scheduler_core.frontends.migration.configs import migrated_configs
from scheduler_core.frontends.migration.expressions import migrated_selectors
from scheduler_core.frontends.migration.names import CLASSES, DRIVER, GPU_CLASS, LOST_CLASSES, lost_value
from scheduler_core.frontends.migration.values import Notes, entries, mapping
from scheduler_core.model.names import DEFAULT_DRIVER

GROUP: Final = "resource.k8s.io"
VERSION: Final = f"{GROUP}/v1"
CLAIM_KINDS: Final = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
_FLAT_VERSION: Final = f"{GROUP}/v1beta1"
_VERSIONS: Final = (VERSION, f"{GROUP}/v1beta2", _FLAT_VERSION)
_SHARE: Final = (
    "a share of a GPU: shares are devices of another type here, with a class of their own; see docs/modes.md"
)


def migrated_object(obj: Mapping[str, Any], notes: Notes) -> Mapping[str, Any]:
    """Return a claim, template or class of any version that is read, in ``resource.k8s.io/v1``."""
    if obj.get("apiVersion") not in _VERSIONS:
        notes.add("", f"apiVersion {obj.get('apiVersion')}: the versions {', '.join(_VERSIONS)} are read")
        return obj
    is_flat = obj["apiVersion"] == _FLAT_VERSION
    if obj.get("kind") == "DeviceClass":
        return {**_class(obj, notes), "apiVersion": VERSION}
    spec = mapping(obj.get("spec"))
    if _is_allocated(obj):
        notes.add(
            "status", "the driver that allocated a claim prepares it: create the claim anew, without status"
        )
    if "spec" in spec:
        inner = _claim_spec(mapping(spec["spec"]), "spec.spec", notes, is_flat=is_flat)
        spec = {**spec, "spec": inner}
    else:
        spec = _claim_spec(spec, "spec", notes, is_flat=is_flat)
    return {**obj, "apiVersion": VERSION, **({"spec": spec} if isinstance(obj.get("spec"), Mapping) else {})}


def _is_allocated(obj: Mapping[str, Any]) -> bool:
    allocation = mapping(mapping(obj.get("status")).get("allocation"))
    results = mapping(allocation.get("devices")).get("results")
    return any(str(mapping(one).get("driver")).endswith("nvidia.com") for _, one in entries(results))


def _class(obj: Mapping[str, Any], notes: Notes) -> Mapping[str, Any]:
    metadata, spec = mapping(obj.get("metadata")), mapping(obj.get("spec"))
    name = metadata.get("name")
    if isinstance(name, str) and name in LOST_CLASSES:
        notes.add("", LOST_CLASSES[name])
        return obj
    new = CLASSES.get(str(name), "")
    changed = _changed(
        spec,
        selectors=migrated_selectors(spec.get("selectors"), new or str(name), "spec.selectors", notes),
        config=migrated_configs(spec.get("config"), "spec.config", notes),
    )
    renamed = {"metadata": {**metadata, "name": new}} if new else {}
    return {**obj, **renamed, **({"spec": changed} if isinstance(obj.get("spec"), Mapping) else {})}


def _claim_spec(spec: Mapping[str, Any], path: str, notes: Notes, *, is_flat: bool) -> Mapping[str, Any]:
    devices, inner = spec.get("devices"), f"{path}.devices"
    if not isinstance(devices, Mapping):
        return spec
    request, constraint = partial(_request, notes=notes, is_flat=is_flat), partial(_constraint, notes=notes)
    changed = _changed(
        devices,
        requests=_each(devices.get("requests"), f"{inner}.requests", request),
        constraints=_each(devices.get("constraints"), f"{inner}.constraints", constraint),
        config=migrated_configs(devices.get("config"), f"{inner}.config", notes),
    )
    return {**spec, "devices": changed}


def _each(values: Any, path: str, change: Callable[[Any, str], Any]) -> Any:
    """Return a list with every entry changed, given its path; anything else as it is."""
    if not isinstance(values, list):
        return values
    return [change(one, f"{path}[{index}]") for index, one in enumerate(values)]


def _changed(fields: Mapping[str, Any], **values: Any) -> dict[str, Any]:
    """Return fields with other values for those of them that are there."""
    return {key: values.get(key, value) for key, value in fields.items()}


def _request(request: Any, path: str, notes: Notes, *, is_flat: bool) -> Any:
    if not isinstance(request, Mapping):
        return request
    options = request.get("firstAvailable")
    if isinstance(options, list):
        found = [_option(one, f"{path}.firstAvailable[{index}]", notes) for index, one in entries(options)]
        return {**request, "firstAvailable": found}
    if "exactly" in request:
        return {**request, "exactly": _option(request["exactly"], f"{path}.exactly", notes)}
    if not is_flat:
        return request
    exactly = {key: value for key, value in request.items() if key != "name"}
    named = {"name": request["name"]} if "name" in request else {}
    return {**named, "exactly": _option(exactly, f"{path}.exactly", notes)}


def _option(option: Any, path: str, notes: Notes) -> Any:
    """Return what is asked for, in the words of this driver."""
    if not isinstance(option, Mapping):
        return option
    name = option.get("deviceClassName")
    if isinstance(name, str) and name in LOST_CLASSES:
        notes.add(path, f"class {name}: {LOST_CLASSES[name]}")
        return option
    new = CLASSES.get(str(name), "")
    _note_tolerations(option.get("tolerations"), f"{path}.tolerations", notes)
    return _changed(
        option,
        deviceClassName=new or name,
        selectors=migrated_selectors(option.get("selectors"), new or str(name), f"{path}.selectors", notes),
        capacity=_capacity(option.get("capacity"), new, f"{path}.capacity", notes),
    )


def _capacity(capacity: Any, new_class: str, path: str, notes: Notes) -> Any:
    """Return amounts by this driver's names. Those of whole GPUs are shares, which are other devices here."""
    asked = mapping(mapping(capacity).get("requests"))
    if not asked:
        return capacity
    if new_class == GPU_CLASS:
        notes.add(path, _SHARE)
        return capacity
    found = {}
    for name, amount in asked.items():
        domain, _, identifier = str(name).rpartition("/")
        lost = lost_value("capacity", identifier) if domain == DRIVER else None
        if lost is not None:
            notes.add(f"{path}.requests", lost)
        is_renamed = domain == DRIVER and lost is None
        found[f"{DEFAULT_DRIVER}/{identifier}" if is_renamed else name] = amount
    return {**capacity, "requests": found}


def _note_tolerations(tolerations: Any, path: str, notes: Notes) -> None:
    for index, one in entries(tolerations):
        key = str(mapping(one).get("key"))
        if key.startswith(f"{DRIVER}/"):
            notes.add(
                f"{path}[{index}]",
                f"taint {key}: taints here are health.{DEFAULT_DRIVER}/CAUSE; see docs/health.md",
            )


def _constraint(constraint: Any, path: str, notes: Notes) -> Any:
    if not isinstance(constraint, Mapping):
        return constraint
    found = dict(constraint)
    for key in ("matchAttribute", "distinctAttribute"):
        domain, _, identifier = str(constraint.get(key)).rpartition("/")
        if domain != DRIVER:
            continue
        lost = lost_value("attributes", identifier)
        if lost is None:
            found[key] = f"{DEFAULT_DRIVER}/{identifier}"
        else:
            notes.add(f"{path}.{key}", lost)
    return found
