"""Objects judged by the schemas of their kinds, as an API server that validates fields strictly judges them.

The schemas are those that Kubernetes publishes and those of our CustomResourceDefinitions
(``hack/object_schemas.py``). They say which fields there are and of which type; rules that join several
fields are beside the code that reads them. Null is the same as absent, as for the API server.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Final

import jsonschema_rs

from scheduler_core.base.errors import InvalidInput, shown
from scheduler_core.codec.documents import Document, is_composite_slice
from scheduler_core.frontends.validation.finding import Finding, Reporter
from scheduler_core.model.names import LABEL_RULE, SUBDOMAIN_RULE

_Path = Sequence[str | int]
_Schema = Mapping[str, Any]
_TYPES: Final = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_RULES: Final = {
    f"^{_LABEL}$": LABEL_RULE,
    rf"^{_LABEL}(\.{_LABEL})*$": SUBDOMAIN_RULE,
    "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$": "must be the value of a label (A-Z, a-z, 0-9, -, _, .)",
}
_EXAMPLES: Final = {
    "KMGTPE": "must be a quantity such as '4864Mi' or '1'",
    "(0|[1-9]": "must be a version of three numbers such as 560.35.3",
    "T[0-9]": "must be a time such as 2026-01-31T12:00:00Z",
}
_LIMITS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} entries",
    "maxItems": "must have at most {} entries",
    "uniqueItems": "must not have an entry twice",
    "minProperties": "must have at least {} fields",
    "maxProperties": "must have at most {} fields",
}
_SEED_VERSION: Final = "resource.k8s.io/v1alpha3"
_OF_THE_SEED_VERSION: Final = "resource.k8s.io/v1beta1"
"""v1beta1 has the fields of that version."""
_ONLY_HERE: Final = {
    "ResourceSlice spec.devices[].compatibleOnlyWith": "no released API server and no kube-scheduler has it",
    "ResourceClaim spec.spec": "templates have it; no API server takes it in a claim: write spec.devices",
}
"""Fields of the proposals that are read here. Shape: kind and path, and what to know of it."""
_ANY_INDEX: Final = re.compile(r"\[[0-9]+\]")
_LEVELS: Final = 4
"""How far above its place a misplaced field is searched for: spec to spec.devices.requests[].exactly."""


def schema_findings(document: Document) -> Iterator[Finding]:
    """Yield what the schema of its kind says of an object; nothing about a kind that has none here."""
    report, kind = Reporter(document), str(document.content.get("kind"))
    version, known = document.content.get("apiVersion"), _versions(kind)
    schema = known.get(str(version))
    if schema is not None:
        yield from _differences(document.content, schema, kind, report)
    elif kind == "ResourceSlice" and is_composite_slice(document.content):
        text = "no API server takes KEP-4815's form of this kind: write a CompositeResourceSlice"
        yield report.warning("kind", f"kind: 'ResourceSlice': {text}")
    elif known and version == _SEED_VERSION:
        text = f"no released API server has this version any more; write {_either(known)}"
        yield report.warning("apiVersion", f"apiVersion: {version!r}: {text}")
        as_served = {**document.content, "apiVersion": _OF_THE_SEED_VERSION}
        yield from _differences(as_served, known[_OF_THE_SEED_VERSION], kind, report)
    elif known and (version is None or _group(str(version)) in map(_group, known)):
        rule = f"must be {_either(known)}" if version is not None else f"is required: {_either(known)}"
        yield report.refused(InvalidInput(report.subject, "apiVersion", version, rule))


def _differences(
    content: Mapping[str, Any], schema: _Schema, kind: str, report: Reporter
) -> Iterator[Finding]:
    version, metadata = content["apiVersion"], content.get("metadata") or {}
    if isinstance(metadata, Mapping) and not metadata.get("name") and not metadata.get("generateName"):
        yield report.refused(InvalidInput(report.subject, "metadata.name", None, "is required"))
    try:
        differences = list(_validator(kind, version).iter_errors(_without_nulls(content, schema)))
    except ValueError as error:  # a number that JSON cannot express
        yield report.error("", str(error))
        return
    for one in differences:
        for key, value, rule in _sentences(one, schema, kind, version):
            path = _text([*one.instance_path, *key])
            if rule.startswith("unknown field") and (
                why := _ONLY_HERE.get(f"{kind} {_ANY_INDEX.sub('[]', path)}")
            ):
                yield report.warning(path, f"{path}: {why}")
            else:
                yield report.refused(InvalidInput(report.subject, path, value, rule))


def _sentences(
    error: jsonschema_rs.ValidationError, schema: _Schema, kind: str, version: str
) -> Iterator[tuple[_Path, object, str]]:
    """Yield the keys below the place of an error, the value there and the rule that it breaks."""
    said, keyword = error.kind.as_dict(), str(error.schema_path[-1])
    if "propertyNames" in error.schema_path[-2:]:
        keyword = "propertyNames"
    match keyword:
        case "additionalProperties":
            for key in said["unexpected"]:
                yield [key], None, _unknown(key, error.instance_path, schema, kind, version)
        case "required":
            yield [said["property"]], None, "is required"
        case "type":
            yield [], error.instance, f"must be {' or '.join(_TYPES[one] for one in said['types'])}"
        case "enum":
            options = [json.dumps(one) if one is True else str(one) for one in said["options"]]
            yield [], error.instance, f"must be {'one of ' if options[1:] else ''}{', '.join(options)}"
        case "pattern":
            pattern = said["pattern"]
            example = next(
                (text for part, text in _EXAMPLES.items() if part in pattern), f"must match {pattern}"
            )
            yield [], error.instance, _RULES.get(pattern, example)
        case "propertyNames":
            yield [], None, f"{shown(error.instance)}: must be a name such as example.com/name"
        case _ if keyword in _LIMITS:
            yield [], error.instance, _LIMITS[keyword].format(said.get("limit"))
        case _:
            yield [], error.instance, error.message


def _unknown(key: str, path: _Path, schema: _Schema, kind: str, version: str) -> str:
    """Return the rule that an unknown field breaks, with the place where it would be right."""
    place = _below(schema, path)
    known = sorted(place.get("properties", ())) if place is not None else []
    for other, one in _versions(kind).items():
        there = _below(one, path)
        is_inside = place is not None and _inside(place, key)
        if other != version and there is not None and key in there.get("properties", ()) and not is_inside:
            return f"unknown field in {version}, which {other} has; known here: {', '.join(known)}"
    for length in range(len(path), max(len(path) - _LEVELS, -1), -1):
        above = _below(schema, path[:length])
        if above is not None and (inner := _inside(above, key)):
            return f"unknown field here; it belongs in {_text([*path[:length], *inner])}"
    alike = get_close_matches(key, known, 1)
    meant = f" (did you mean {alike[0]}?)" if alike else ""
    return f"unknown field{meant}; known here: {', '.join(known)}"


def _inside(schema: _Schema, key: str) -> _Path:
    """Return the path to the nearest nested object that has a field of this name; empty if there is none."""
    level: list[tuple[_Path, _Schema]] = [((), schema)]
    for _ in range(_LEVELS):
        deeper: list[tuple[_Path, _Schema]] = []
        for path, one in level:
            for name, child in _resolved(one).get("properties", {}).items():
                found = _resolved(child)
                inner = [*path, name]
                if found.get("type") == "array":
                    found, inner = _resolved(found["items"]), [*path, f"{name}[]"]
                if key in found.get("properties", ()) and name not in ("metadata", "status"):
                    return inner
                deeper.append((inner, found))
        level = deeper
    return ()


def _below(schema: _Schema, path: _Path) -> _Schema | None:
    """Return the schema of a place, None where the schema has none."""
    found: _Schema | None = _resolved(schema)
    for key in path:
        if found is None:
            return None
        child = found.get("items") if isinstance(key, int) else found.get("properties", {}).get(key)
        if child is None and isinstance(found.get("additionalProperties"), Mapping):
            child = found["additionalProperties"]
        found = None if child is None else _resolved(child)
    return found


def _resolved(schema: _Schema) -> _Schema:
    reference = schema.get("$ref")
    found: _Schema = schema if reference is None else _schemas()["$defs"][reference.rpartition("/")[2]]
    return found


def _without_nulls(value: Any, schema: _Schema | None) -> Any:
    """Return a value without fields that are null, except those that the schema does not have."""
    if isinstance(value, Mapping):
        known: _Schema = _resolved(schema).get("properties", {}) if schema is not None else {}
        is_free = schema is None or "properties" not in _resolved(schema)
        return {
            key: _without_nulls(one, _child(schema, key))
            for key, one in value.items()
            if one is not None or not (is_free or key in known)
        }
    if isinstance(value, list | tuple):
        return [_without_nulls(one, _child(schema, 0)) for one in value]
    return value


def _child(schema: _Schema | None, key: str | int) -> _Schema | None:
    return None if schema is None else _below(schema, [key])


def _text(path: _Path) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


def _either(versions: Mapping[str, _Schema]) -> str:
    return " or ".join(versions)


def _group(version: str) -> str:
    return version.rpartition("/")[0]


@cache
def _schemas() -> Mapping[str, Any]:
    text = (files(__package__) / "object-schemas.json").read_text(encoding="utf-8")
    published, own = json.loads(text).values()
    kinds = {name: {"$ref": f"#/$defs/{one}"} for name, one in published["kinds"].items()}
    return {"kinds": {**kinds, **own["kinds"]}, "$defs": published["$defs"]}


@cache
def _versions(kind: str) -> Mapping[str, _Schema]:
    """Return the schemas of a kind by the apiVersion that has it."""
    named = (name.split(" ") for name in _schemas()["kinds"])
    return {version: _schemas()["kinds"][f"{version} {one}"] for version, one in named if one == kind}


@cache
def _validator(kind: str, version: str) -> jsonschema_rs.Draft202012Validator:
    schema = {**_versions(kind)[version], "$defs": _schemas()["$defs"]}
    return jsonschema_rs.Draft202012Validator(schema)
