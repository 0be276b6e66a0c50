"""Documents to judge, and what is said of them."""

from __future__ import annotations

from typing import Any

from scheduler_core.codec.claims import decode_class
from scheduler_core.codec.documents import Document
from scheduler_core.frontends.validation.finding import Finding
from scheduler_core.frontends.validation.validate import validate

DRIVER = "tangram.dev"
V1 = "resource.k8s.io/v1"


def device_class(name: str, *expressions: str, **spec: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    return {
        "apiVersion": V1,
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def of_type(kind: str) -> dict[str, Any]:
    return device_class(f"{kind}.{DRIVER}", f'device.attributes["{DRIVER}"].type == "{kind}"')


def exactly(name: str, kind: str, *expressions: str, **fields: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    found = {"deviceClassName": f"{kind}.{DRIVER}", "selectors": selectors, **fields}
    return {"name": name, "exactly": found}


def config(kind: str, *requests: str, driver: str = DRIVER, **fields: Any) -> dict[str, Any]:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": kind, **fields}
    return {"requests": list(requests), "opaque": {"driver": driver, "parameters": parameters}}


def claim(*requests: dict[str, Any], name: str = "c", **devices: Any) -> dict[str, Any]:
    return {
        "apiVersion": V1,
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": list(requests), **devices}},
    }


def slice_of(*devices: tuple[str, dict[str, Any]], driver: str = DRIVER) -> dict[str, Any]:
    """A slice. Shape: devices with their attributes: texts and integers."""
    kinds = {bool: "bool", str: "string", int: "int"}
    found = [
        {"name": name, "attributes": {key: {kinds[type(one)]: one} for key, one in attributes.items()}}
        for name, attributes in devices
    ]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": V1,
        "kind": "ResourceSlice",
        "metadata": {"name": "slice"},
        "spec": {"driver": driver, "pool": pool, "nodeName": "n", "devices": found},
    }


def judge(*documents: dict[str, Any]) -> tuple[Finding, ...]:
    """Judge documents, where the four usual classes count if there are no others."""
    usual = [decode_class(of_type(kind)) for kind in ("gpu", "mig", "nic", "vf")]
    placed = [Document(f"f:{index}", one) for index, one in enumerate(documents)]
    return validate(placed, DRIVER, usual, has_all_claims=False).findings
