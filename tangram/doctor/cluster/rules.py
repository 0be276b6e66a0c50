"""PURE: what the whole cluster lacks: a version, feature gates, device classes, admission policies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tangram.doctor import kinds
from tangram.doctor.cluster.facts import ClusterFacts, Document, name_of, part
from tangram.doctor.finding import Finding

OLDEST: Final = (1, 34)
"""The first version that serves resource.k8s.io/v1."""
GATES: Final = {
    "DRAPartitionableDevices": "GPUs and their MIG partitions are not offered side by side",
    "DRADeviceTaints": "devices that are not well are withheld, and not tainted",
}
POLICIES: Final = (
    "tangram-slices-of-own-node",
    "tangram-status-of-own-devices",
    "tangram-events-of-own-node",
    "tangram-claims-in-use",
)
_INSTALL: Final = "kubectl apply --kustomize deploy/manifests/overlays/nvidia  # or your own kustomization"


def rule_findings(facts: ClusterFacts) -> Iterator[Finding]:
    """Yield what the cluster lacks."""
    if facts.version < OLDEST:
        version = "{}.{}".format(*facts.version)
        yield Finding(
            kind=kinds.SERVER_TOO_OLD,
            object=version,
            problem=f"the API server is {version}; 1.34 or newer is needed",
            remedies=("kubectl version",),
        )
        return
    for gate, harm in GATES.items():
        if facts.gates.get(gate) is False:
            yield Finding(
                kind=kinds.FEATURE_GATE_OFF,
                object=gate,
                problem=f"feature gate {gate} of the API server is off: {harm}",
                remedies=(f"kubectl get --raw /metrics | grep 'kubernetes_feature_enabled.*{gate}\"'",),
            )
    yield from _of_classes(facts)
    yield from _of_policies(facts)


def _of_classes(facts: ClusterFacts) -> Iterator[Finding]:
    if facts.classes is None:
        return
    selecting = [text for one in facts.classes if f'"{facts.driver}"' in (text := _expressions(one))]
    for kind in ("gpu", "mig", "nic", "vf"):
        if kind in _types(facts) and not any(f'"{kind}"' in text for text in selecting):
            yield Finding(
                kind=kinds.DEVICE_CLASS_MISSING,
                object=kind,
                problem=f"nodes offer devices of type {kind}, and no DeviceClass has a selector with "
                f'"{facts.driver}" and "{kind}"',
                remedies=("kubectl apply --kustomize deploy/manifests/base/device-classes",),
            )


def _expressions(device_class: Document) -> str:
    selectors = part(device_class, "spec").get("selectors") or ()
    return " ".join(str(part(one, "cel").get("expression", "")) for one in selectors)


def _types(facts: ClusterFacts) -> set[str]:
    devices = (device for one in facts.slices for device in one["spec"].get("devices") or ())
    names = ("type", f"{facts.driver}/type")
    attributes = (part(one, "attributes") for one in devices)
    return {str(part(one, name).get("string")) for one in attributes for name in names}


def _of_policies(facts: ClusterFacts) -> Iterator[Finding]:
    policies, bindings, accounts = facts.policies, facts.bindings, facts.accounts
    if policies is None or bindings is None or accounts is None:
        return
    for wanted in POLICIES:  # a kustomization may put something before and behind the name
        found = [one for one in policies if wanted in name_of(one) and _is_of(one, facts.driver)]
        if not found:
            yield Finding(
                kind=kinds.POLICY_MISSING,
                object=wanted,
                problem=f"there is no ValidatingAdmissionPolicy {wanted} for driver {facts.driver}",
                remedies=(_INSTALL,),
            )
            continue
        names = {name_of(one) for one in found}
        bound = [one for one in bindings if part(one, "spec").get("policyName") in names]
        problem = _without_effect(facts, bound)
        if problem:
            yield Finding(
                kind=kinds.POLICY_WITHOUT_EFFECT,
                object=wanted,
                problem=f"policy {', '.join(sorted(names))} applies to nobody: {problem}",
                remedies=(
                    f"kubectl get validatingadmissionpolicybindings {' '.join(sorted(names))} --output yaml",
                    _INSTALL,
                ),
            )


def _is_of(policy: Document, driver: str) -> bool:
    variables = part(policy, "spec").get("variables") or ()
    return any(one["name"] == "driver" and driver == one["expression"].strip('"') for one in variables)


def _without_effect(facts: ClusterFacts, bindings: Iterable[Document]) -> str:
    """Return why no binding makes a policy apply, empty where one does."""
    denying = [one for one in bindings if "Deny" in (part(one, "spec").get("validationActions") or ())]
    if not denying:
        return "no ValidatingAdmissionPolicyBinding with the action Deny names it"
    params = [part(one, "spec", "paramRef") for one in denying]
    if not all(params):
        return ""  # it applies to everybody
    named = {f"{one.get('namespace')}/{one.get('name')}" for one in params}
    known = {f"{one['metadata']['namespace']}/{name_of(one)}" for one in facts.accounts or ()}
    if not named & known:
        return f"there is no service account {' or '.join(sorted(named))}"
    used = {_account(one) for one in facts.driver_pods()}
    if used and not named & used:
        text = " and ".join(sorted(used))
        return f"it is about service account {' or '.join(sorted(named))}, and the driver runs as {text}"
    return ""


def _account(pod: Document) -> str:
    return f"{pod['metadata']['namespace']}/{pod['spec'].get('serviceAccountName', 'default')}"
