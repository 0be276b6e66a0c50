"""Write ``tangram/validation/object-schemas.json``: the fields of objects that ``tangram validate`` judges.

The schemas of Kubernetes' kinds are those that Kubernetes publishes (``api/openapi-spec/v3`` of the Go module
k8s.io/kubernetes, Apache-2.0), without descriptions and closed: a field that a schema does not name is a
mistake, as for ``kubectl --validate=strict``. Those of our own kinds are the CustomResourceDefinitions in
``deploy/manifests``. ``--check`` changes nothing and fails if the file differs; without Go's copy of the
module (``make cluster-tools`` has one) only our own kinds are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

TOP: Final = Path(__file__).resolve().parent.parent
FILE: Final = TOP / "tangram" / "validation" / "object-schemas.json"
VERSION: Final = "v1.37.2"
MODULE: Final = f"k8s.io/kubernetes@{VERSION}"
MODULES: Final = Path(os.environ.get("GOMODCACHE") or Path(os.environ.get("GOPATH") or "~/go") / "pkg/mod")
SPECIFICATIONS: Final = MODULES.expanduser() / MODULE / "api/openapi-spec/v3"
_DRA: Final = ("DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
KINDS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "v1": ("api__v1", ("Node", "Pod")),
    "apps/v1": ("apis__apps__v1", ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")),
    "batch/v1": ("apis__batch__v1", ("CronJob", "Job")),
    **{
        f"resource.k8s.io/{one}": (f"apis__resource.k8s.io__{one}", _DRA)
        for one in ("v1", "v1beta1", "v1beta2")
    },
    "resource.k8s.io/v1alpha3": ("apis__resource.k8s.io__v1alpha3", _DRA[1:2]),
}
CRDS: Final = ("base/crd.yaml", "base/crd-resource-class.yaml", "multi-node-pools/crd.yaml")
_QUANTITY: Final = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"
_TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$"
_WRITTEN: Final[Mapping[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"type": ["string", "number"], "pattern": _QUANTITY},
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time": {"type": "string", "pattern": _TIME},
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime": {"type": "string", "pattern": _TIME},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {"type": ["integer", "string"]},
}
"""Types that Kubernetes writes and reads with code of their own: what that code takes."""
_LABEL: Final = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_IS_LABEL: Final = {"pattern": _LABEL, "maxLength": 63}
_IS_SUBDOMAIN: Final = {"pattern": _SUBDOMAIN, "maxLength": 253}
_IS_LABEL_VALUE: Final = {
    "type": "string",
    "pattern": "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
    "maxLength": 63,
}
_IS_LABEL_KEY: Final = {
    "type": "string",
    "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
    "maxLength": 317,
}
_LABELS: Final = {"propertyNames": _IS_LABEL_KEY, "additionalProperties": _IS_LABEL_VALUE}
# Names of resources without a domain are those of Kubernetes.
_AMOUNTS: Final = {
    "propertyNames": {
        "pattern": "^(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMG]i|[a-z0-9][-a-z0-9.]*/[A-Za-z0-9]"
        "([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$"
    }
}
_SEMVER: Final = (
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    r"(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$"
)
_CONDITIONS: Final = {"items": _IS_LABEL_KEY, "maxItems": 4, "uniqueItems": True}
_DEVICE: Final = {
    "name": _IS_LABEL,
    "nodeName": _IS_SUBDOMAIN,
    "allNodes": {"enum": [True]},
    "bindingConditions": _CONDITIONS,
    "bindingFailureConditions": _CONDITIONS,
}
_VALIDATED: Final[Mapping[str, Mapping[str, Any]]] = {
    "meta.ObjectMeta": {
        "name": _IS_SUBDOMAIN,
        "namespace": _IS_LABEL,
        "generation": {"minimum": 0},
        "labels": _LABELS,
        "annotations": {"propertyNames": _IS_LABEL_KEY},
    },
    "meta.LabelSelector": {"matchLabels": _LABELS},
    **{
        f"apps.{one}Spec": {"replicas": {"minimum": 0}} for one in ("Deployment", "ReplicaSet", "StatefulSet")
    },
    "core.PodSpec": {
        "containers": {"minItems": 1},
        "restartPolicy": {"enum": ["Always", "OnFailure", "Never"]},
        "dnsPolicy": {"enum": ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]},
    },
    "core.Container": {
        "name": _IS_LABEL,
        "image": {"pattern": r"^\S(.*\S)?$"},
        "imagePullPolicy": {"enum": ["Always", "IfNotPresent", "Never"]},
        "terminationMessagePolicy": {"enum": ["File", "FallbackToLogsOnError"]},
    },
    "core.PodResourceClaim": {
        "name": _IS_LABEL,
        "resourceClaimName": _IS_SUBDOMAIN,
        "resourceClaimTemplateName": _IS_SUBDOMAIN,
    },
    "resource.ResourcePool": {"resourceSliceCount": {"minimum": 1}},
    "resource.ResourceSliceSpec": {
        "nodeName": _IS_SUBDOMAIN,
        "allNodes": {"enum": [True]},
        "perDeviceNodeSelection": {"enum": [True]},
    },
    **{f"resource.{one}": _DEVICE for one in ("Device", "BasicDevice")},
    "core.ResourceRequirements": {"limits": _AMOUNTS, "requests": _AMOUNTS},
    "resource.DeviceAttribute": {"version": {"pattern": _SEMVER}},
    "resource.DeviceCounterConsumption": {"counters": {"minProperties": 1}},
    "resource.DeviceToleration": {"key": _IS_LABEL_KEY},
    "resource.DeviceTaint": {"key": _IS_LABEL_KEY, "value": _IS_LABEL_VALUE},
}
"""What the server's validation adds to the published schemas, by type without its version, and property.

Source: pkg/apis/core/validation and pkg/apis/resource/validation of the same module.
"""
_REQUIRED: Final = {"core.Container": "image"}
_KEPT: Final = ("type", "enum", "pattern", "minimum", "maximum", "minLength", "maxLength")
_KEPT_LISTS: Final = ("minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, or check it with ``--check``; return 1 if it differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if the file differs")
    check = parser.parse_args(arguments).check
    has_module = SPECIFICATIONS.is_dir()
    if not check and not has_module:
        print(f"{SPECIFICATIONS}: missing: go mod download {MODULE}", file=sys.stderr)
        return 2
    written = FILE.read_text(encoding="utf-8") if FILE.exists() else "{}"
    published = kubernetes(SPECIFICATIONS) if has_module else json.loads(written)["kubernetes"]
    wanted = _text({"kubernetes": published, "tangram": own_kinds()})
    if not check:
        FILE.write_text(wanted, encoding="utf-8")
        return 0
    if not has_module:
        print(f"{SPECIFICATIONS}: missing, so only Tangram's own kinds were compared", file=sys.stderr)
    if written != wanted:
        print(f"{FILE}: differs from its sources; run hack/object_schemas.py and commit it", file=sys.stderr)
    return int(written != wanted)


def kubernetes(specifications: Path) -> dict[str, Any]:
    """Return the kinds of Kubernetes. Shape: ``kinds`` lead to ``$defs`` by name."""
    types: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    for version, (file, names) in KINDS.items():
        text = (specifications / f"{file}_openapi.json").read_text(encoding="utf-8")
        known = json.loads(text)["components"]["schemas"]
        types |= known
        group, _, short = version.rpartition("/")
        for name, schema in known.items():
            for one in schema.get("x-kubernetes-group-version-kind", ()):
                if (one["group"], one["version"]) == (group, short) and one["kind"] in names:
                    kinds[f"{version} {one['kind']}"] = _name(name)
    by_user, all_types = set[str](), set[str]()
    for name in types:
        if _name(name) in kinds.values():
            _reach(name, types, by_user, skipped="status")
            _reach(name, types, all_types)
    defs = {
        _name(name): _WRITTEN.get(name) or _validated(name, types[name], is_complete=name in by_user)
        for name in all_types
    }
    return {"source": f"{MODULE} api/openapi-spec/v3, Apache-2.0", "kinds": kinds, "$defs": defs}


def own_kinds() -> dict[str, Any]:
    """Return our own kinds. Shape: as ``kubernetes``."""
    found: dict[str, Any] = {}
    for file in CRDS:
        spec = yaml.safe_load((TOP / "deploy/manifests" / file).read_text(encoding="utf-8"))["spec"]
        for version in spec["versions"]:
            schema = _closed(version["schema"]["openAPIV3Schema"])
            schema["properties"]["metadata"] = {"$ref": "#/$defs/meta.v1.ObjectMeta"}
            found[f"{spec['group']}/{version['name']} {spec['names']['kind']}"] = schema
    return {"source": "deploy/manifests", "kinds": found}


def _text(schemas: Mapping[str, Mapping[str, Any]]) -> str:
    """Return JSON with a line for each type."""
    parts = []
    for source, part in schemas.items():
        lines = []
        for key, value in part.items():
            if isinstance(value, Mapping):
                rows = ",\n".join(f"{json.dumps(name)}: {_line(value[name])}" for name in sorted(value))
                lines.append(f"{json.dumps(key)}: {{\n{rows}\n}}")
            else:
                lines.append(f"{json.dumps(key)}: {json.dumps(value)}")
        parts.append(f"{json.dumps(source)}: {{\n" + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _name(name: str) -> str:
    """Return a short name of a type: ``core.v1.Pod`` for ``io.k8s.api.core.v1.Pod``."""
    return re.sub(r"^io\.k8s\.(api|apimachinery\.pkg|apimachinery\.pkg\.apis)\.", "", name).removeprefix(
        "apis."
    )


def _reach(name: str, types: Mapping[str, Any], reached: set[str], skipped: str = "") -> None:
    if name in reached:
        return
    reached.add(name)
    if name not in _WRITTEN:
        for one in _references(types[name], skipped):
            _reach(one, types, reached, skipped)


def _references(schema: object, skipped: str) -> Iterator[str]:
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "$ref":
                yield value.rpartition("/")[2]
            elif key != skipped:
                yield from _references(value, skipped)
    elif isinstance(schema, list):
        for one in schema:
            yield from _references(one, skipped)


def _validated(name: str, schema: Mapping[str, Any], *, is_complete: bool) -> dict[str, Any]:
    group, *_, kind = _name(name).split(".")
    key = f"{group}.{kind}"
    added = _VALIDATED.get(key, {})
    properties = {
        one: {**value, **added[one]} if one in added else value
        for one, value in schema.get("properties", {}).items()
    }
    required = [*schema.get("required", ()), *([_REQUIRED[key]] if key in _REQUIRED else ())]
    whole = {**schema, "required": required}
    return _closed({**whole, "properties": properties} if properties else whole, is_complete=is_complete)


def _closed(schema: Mapping[str, Any], *, is_complete: bool = True) -> dict[str, Any]:
    """Return a schema without what says nothing of validity, and without room for other fields.

    Shape: ``is_complete`` if an author writes the object; what programs report in a status may be written in
           part. A number or a boolean that is left out is 0 or false for the server, whatever is required.
    """
    if "$ref" in schema:
        return {"$ref": f"#/$defs/{_name(schema['$ref'].rpartition('/')[2])}"}
    if len(schema.get("allOf", ())) == 1:
        return _closed(schema["allOf"][0], is_complete=is_complete)
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"], **{key: schema[key] for key in _KEPT[1:] if key in schema}}
    found = {key: schema[key] for key in (*_KEPT, *_KEPT_LISTS) if key in schema}
    if schema.get("format") in ("int32", "int64"):
        edge = 2 ** (int(schema["format"][3:]) - 1)
        found = {"minimum": -edge, "maximum": edge - 1} | found
    if "items" in schema:
        found["items"] = _closed(schema["items"], is_complete=is_complete)
    if "properties" in schema:
        found["properties"] = {
            key: _closed(one, is_complete=is_complete) for key, one in schema["properties"].items()
        }
        found["additionalProperties"] = False
        required = [
            one for one in schema.get("required", ()) if is_complete and not _may_be_zero(schema, one)
        ]
        if required:
            found["required"] = sorted(required)
    elif "additionalProperties" in schema:
        if "propertyNames" in schema:
            found["propertyNames"] = schema["propertyNames"]
        found["additionalProperties"] = _closed(schema["additionalProperties"], is_complete=is_complete)
    return found


def _may_be_zero(schema: Mapping[str, Any], key: str) -> bool:
    property_schema = schema["properties"].get(key, {})
    return "minimum" not in property_schema and property_schema.get("type") in (
        "integer",
        "boolean",
        "number",
    )


if __name__ == "__main__":
    sys.exit(main())
