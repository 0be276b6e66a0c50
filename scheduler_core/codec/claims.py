"""Decodes ResourceClaims, templates and DeviceClasses.

Each apiVersion has the fields that its API server has: ``exactly`` from v1beta2 on, the flat form before.
Without an apiVersion, and with the v1alpha3 of the proposals, both forms are read, and in claims also the
``spec.spec`` that KEP-4815 writes. An unknown field that could change the allocation is refused by name:
without it the claim would get the wrong devices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from scheduler_core.base import limits
from scheduler_core.base.errors import InvalidClaim, InvalidClass
from scheduler_core.codec.amounts import read_amount
from scheduler_core.codec.attributes import read_keys
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.model.claim import (
    AllocatedClaim,
    AllocatedDevice,
    Claim,
    ClaimRef,
    ClaimUid,
    Constraint,
    DeviceClass,
    DeviceRequest,
    DistinctAttribute,
    MatchAttribute,
    OpaqueConfig,
    Request,
    is_among,
)
from scheduler_core.model.device import DeviceId, DeviceName, QualifiedName
from scheduler_core.model.names import (
    DRIVER_RULE,
    IDENTIFIER_RULE,
    LABEL_RULE,
    SUBDOMAIN_RULE,
    domain_and_identifier,
    is_driver,
    is_identifier,
    is_label,
    is_subdomain,
)
from scheduler_core.model.taints import Effect, Toleration

_POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
_WITH_EXACTLY: Final = ("resource.k8s.io/v1", "resource.k8s.io/v1beta2")
_FLAT: Final = "resource.k8s.io/v1beta1"
_REQUEST_FIELDS: Final = (
    "name",
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
    "derivedAttributes",
)


def decode_claim(obj: Mapping[str, Any]) -> Claim:
    """Read a ResourceClaim or ResourceClaimTemplate.

    Raises: InvalidClaim with the path, the value and the rule.
    """
    kind = str(obj.get("kind") or "ResourceClaim")
    top = Fields(obj, subject_of(obj, kind), "", InvalidClaim)
    metadata = top.optional("metadata")
    devices = _devices(top.child("spec"), is_template=kind == "ResourceClaimTemplate")
    devices.only("requests", "constraints", "config")
    version = obj.get("apiVersion")
    requests = tuple(_request(fields, version) for fields in devices.children("requests", limits.REQUESTS))
    _unique((request.name for request in requests), devices, "requests")
    constraints = tuple(_constraints(devices, requests))
    _check_derived(requests, constraints, devices)
    return Claim(
        ref=_ref(metadata),
        uid=ClaimUid(metadata.text("uid")) if metadata.has("uid") else None,
        requests=requests,
        constraints=constraints,
        configs=tuple(_config(fields) for fields in devices.children("config", limits.CONFIGS)),
    )


def _devices(spec: Fields, *, is_template: bool) -> Fields:
    """Return ``spec.devices`` of a claim, ``spec.spec.devices`` of a template or of KEP-4815's claims."""
    if is_template and not spec.has("spec"):
        raise spec.refuse("spec", "is required: the claims get what is there, also spec.spec.devices")
    if spec.has("spec"):
        if spec.has("devices"):
            raise spec.refuse(
                "devices", "must not stand beside spec.spec.devices: only one of them can count"
            )
        spec.only("metadata", "spec")
        spec = spec.child("spec")
    spec.only("devices")
    return spec.optional("devices")


def decode_class(obj: Mapping[str, Any]) -> DeviceClass:
    """Read a DeviceClass. Raises: InvalidClass."""
    top = Fields(obj, subject_of(obj, "DeviceClass"), "", InvalidClass)
    spec = top.optional("spec")
    spec.only("selectors", "config", "extendedResourceName")
    return DeviceClass(
        name=top.child("metadata").text("name", rule=_subdomain),
        selectors=_selectors(spec),
        configs=tuple(_config(fields) for fields in spec.children("config", limits.CONFIGS)),
    )


def decode_allocated_claim(obj: Mapping[str, Any]) -> AllocatedClaim | None:
    """Read the allocation of a claim; None where it has none. Raises: InvalidClaim."""
    top = Fields(obj, subject_of(obj, "ResourceClaim"), "", InvalidClaim)
    metadata = top.optional("metadata")
    status = top.optional("status")
    if not status.has("allocation"):
        return None
    devices = status.child("allocation").optional("devices")
    return AllocatedClaim(
        ref=_ref(metadata),
        uid=ClaimUid(metadata.text("uid")) if metadata.has("uid") else None,
        results=tuple(_result(fields) for fields in devices.children("results", limits.RESULTS)),
        configs=tuple(_config(fields) for fields in devices.children("config", 2 * limits.CONFIGS)),
        pod_claim_name=_pod_claim_name(metadata),
    )


def _pod_claim_name(metadata: Fields) -> str | None:
    """Return the value of an annotation that the control plane sets. Any other text names no file."""
    name = metadata.optional("annotations").values.get(_POD_CLAIM_NAME)
    return name if isinstance(name, str) and is_label(name) else None


def _ref(metadata: Fields) -> ClaimRef:
    return ClaimRef(metadata.text("namespace", "default"), metadata.text("name", rule=_subdomain))


def _result(fields: Fields) -> AllocatedDevice:
    consumed = fields.optional("consumedCapacity")
    return AllocatedDevice(
        fields.text("request"),
        DeviceId(fields.text("driver"), fields.text("pool"), DeviceName(fields.text("device"))),
        admin_access=fields.flag("adminAccess", False),
        share_id=fields.text("shareID") if fields.has("shareID") else None,
        consumed={key: read_amount(consumed, key) for key in consumed.values},
        skipped_operations=fields.texts("skipNodeOperations"),
    )


def _request(fields: Fields, version: object) -> Request:
    is_served = version == _FLAT or version in _WITH_EXACTLY
    rule_of_names = _label if is_served else _proposed_name
    name = fields.text("name", rule=rule_of_names)
    if version in _WITH_EXACTLY and not fields.has("exactly") and not fields.has("firstAvailable"):
        flat = next((key for key in fields.values if key in _REQUEST_FIELDS[1:]), "")
        rule = (
            f"must be in exactly: {version} has it there" if flat else "must have exactly or firstAvailable"
        )
        raise fields.refuse(flat, rule)
    if version == _FLAT and fields.has("exactly"):
        raise fields.refuse("exactly", f"unknown field in {_FLAT}, which has its fields beside name")
    if fields.has("firstAvailable"):
        fields.only("name", "firstAvailable")
        if not fields.items("firstAvailable"):
            raise fields.refuse("firstAvailable", "must have at least one alternative")
        alternatives = tuple(
            _device_request(child, f"{name}/{child.text('name', rule=rule_of_names)}")
            for child in fields.children("firstAvailable", limits.ALTERNATIVES)
        )
        _unique((one.name for one in alternatives), fields, "firstAvailable")
        return Request(name=name, alternatives=alternatives)
    if fields.has("exactly"):
        fields.only("name", "exactly")
        return Request(name=name, alternatives=(_device_request(fields.child("exactly"), name),))
    return Request(name=name, alternatives=(_device_request(fields, name),))


def _device_request(fields: Fields, name: str) -> DeviceRequest:
    fields.only(*_REQUEST_FIELDS)
    capacity = fields.optional("capacity")
    capacity.only("requests")
    amounts = capacity.optional("requests")
    return DeviceRequest(
        name=name,
        class_name=fields.text("deviceClassName", rule=_subdomain),
        selectors=_selectors(fields),
        count=_count(fields),
        admin_access=fields.flag("adminAccess", False),
        tolerations=tuple(_toleration(child) for child in fields.children("tolerations", limits.TOLERATIONS)),
        capacity={key: read_amount(amounts, key) for key in read_keys(amounts, "").values()},
        derived=tuple(_derived(fields)),
    )


def _derived(fields: Fields) -> Iterator[tuple[QualifiedName, str]]:
    seen: set[str] = set()
    for child in fields.children("derivedAttributes", limits.DERIVED_ATTRIBUTES):
        child.only("name", "expression")
        name = child.text("name", rule=_qualified)
        if name in seen:
            raise child.refuse("name", "is listed twice: names must be unique", name)
        seen.add(name)
        yield QualifiedName(name), child.text("expression", rule=_expression)


def _check_derived(
    requests: tuple[Request, ...], constraints: tuple[Constraint, ...], devices: Fields
) -> None:
    """Refuse a derived attribute that no constraint of its request compares, as the API server does."""
    for option in (one for request in requests for one in request.alternatives):
        for name, _ in option.derived:
            if not any(
                isinstance(one, MatchAttribute | DistinctAttribute)
                and one.attribute == name
                and is_among(option.name, one.requests)
                for one in constraints
            ):
                rule = f"request {option.name} derives it, and no constraint of the request compares it"
                raise devices.refuse("requests", rule, name)


def _count(fields: Fields) -> int | None:
    mode = fields.text("allocationMode", "ExactCount")
    if mode == "ExactCount":
        return fields.integer("count", 1, least=1)
    if mode != "All":
        raise fields.refuse("allocationMode", "must be ExactCount or All", mode)
    if fields.values.get("count"):
        raise fields.refuse(
            "count", "must be absent: allocationMode All takes every device", fields.values["count"]
        )
    return None


def _toleration(fields: Fields) -> Toleration:
    fields.only("key", "operator", "value", "effect", "tolerationSeconds")
    operator, effect = fields.text("operator", "Equal"), fields.text("effect", "")
    if operator not in ("Equal", "Exists"):
        raise fields.refuse("operator", "must be Equal or Exists", operator)
    if effect and effect not in (Effect.NO_SCHEDULE, Effect.NO_EXECUTE):
        raise fields.refuse("effect", "must be NoSchedule or NoExecute, or absent for all", effect)
    return Toleration(
        key=fields.text("key", ""),
        exists=operator == "Exists",
        value=fields.text("value", ""),
        effect=Effect(effect) if effect else None,
        seconds=fields.integer("tolerationSeconds", 0, least=0) if fields.has("tolerationSeconds") else None,
    )


def _selectors(fields: Fields) -> tuple[str, ...]:
    return tuple(
        child.child("cel").text("expression", rule=_expression)
        for child in fields.children("selectors", limits.SELECTORS)
    )


def _constraints(devices: Fields, requests: tuple[Request, ...]) -> Iterator[Constraint]:
    known = {request.name for request in requests}
    known |= {alternative.name for request in requests for alternative in request.alternatives}
    for fields in devices.children("constraints", limits.CONSTRAINTS):
        fields.only("requests", "matchAttribute", "distinctAttribute")
        named = fields.texts("requests", limits.REQUESTS)
        for index, name in enumerate(named):
            if name not in known:
                raise fields.refuse(f"requests[{index}]", "names no request of the claim", name)
        _unique(iter(named), fields, "requests")
        yield _constraint(fields, named)


def _constraint(fields: Fields, named: tuple[str, ...]) -> Constraint:
    if fields.has("matchAttribute") == fields.has("distinctAttribute"):
        raise fields.refuse("", "must have exactly one of matchAttribute and distinctAttribute")
    if fields.has("matchAttribute"):
        return MatchAttribute(QualifiedName(fields.text("matchAttribute", rule=_qualified)), named)
    return DistinctAttribute(QualifiedName(fields.text("distinctAttribute", rule=_qualified)), named)


def _config(fields: Fields) -> OpaqueConfig:
    fields.only("requests", "opaque", "source")
    requests = fields.texts("requests", limits.REQUESTS)
    _unique(iter(requests), fields, "requests")
    opaque = fields.child("opaque")
    return OpaqueConfig(
        driver=opaque.text("driver", rule=lambda text: None if is_driver(text) else DRIVER_RULE),
        parameters=opaque.optional("parameters").values,
        requests=requests,
        from_class=fields.text("source", "FromClaim") == "FromClass",
    )


def _unique(names: Iterator[str], fields: Fields, key: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise fields.refuse(key, "names must be unique", name)
        seen.add(name)


def _label(text: str) -> str | None:
    return None if is_label(text) else LABEL_RULE


def _proposed_name(text: str) -> str | None:
    """Check a request's name of a claim in the form of the proposals, which have upper case in names."""
    return _label(text.lower())


def _subdomain(text: str) -> str | None:
    return None if is_subdomain(text) else SUBDOMAIN_RULE


def _expression(text: str) -> str | None:
    size = len(text.encode())
    if size <= limits.EXPRESSION_LENGTH:
        return None
    return f"has {size} bytes; at most {limits.EXPRESSION_LENGTH} are allowed"


def _qualified(text: str) -> str | None:
    domain, identifier = domain_and_identifier(text)
    if domain and is_driver(domain) and is_identifier(identifier, allows_dashes=True):
        return None
    return f"must be fully qualified, such as driver.example.com/parentUUID; {IDENTIFIER_RULE}"
