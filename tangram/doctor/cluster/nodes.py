"""PURE: nodes on which the driver should run and does not, or runs twice, and pods that wait for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from tangram.doctor import kinds
from tangram.doctor.cluster.facts import ClusterFacts, Document, full_name, name_of, part
from tangram.doctor.finding import Finding

LABEL: Final = "tangram.dev/node"
_PATIENCE_S: Final = 60.0
"""How long a pod may take to become ready, or to have its devices prepared. Units: seconds."""
_PREPARE: Final = "FailedPrepareDynamicResources"


def node_findings(facts: ClusterFacts) -> Iterator[Finding]:
    """Yield what is wrong with the driver's pods, node by node."""
    by_node: dict[str, list[Document]] = defaultdict(list)
    for pod in facts.driver_pods():
        by_node[pod["spec"].get("nodeName") or ""].append(pod)
    published = {one["spec"].get("nodeName") for one in facts.slices}
    published |= {one["spec"]["pool"]["name"] for one in facts.composite_slices}  # it may have no others
    for node in facts.nodes:
        name, pods = name_of(node), by_node[name_of(node)]
        is_labelled = part(node, "metadata", "labels").get(LABEL) == "true"
        if is_labelled and not pods and facts.age_s(_created(node)) > _PATIENCE_S:
            yield _without_pod(name)
        yield from _of_unready(facts, pods)
        yield from _of_two(facts, name, pods)
        is_ready = any(not _unready(one) for one in pods)
        if is_ready and name not in published:
            yield Finding(
                kind=kinds.NODE_WITHOUT_SLICES,
                object=name,
                problem=f"driver {facts.driver} runs on node {name}, and the node has no slice of it",
                remedies=(facts.log_of(name, "agent"),),
            )


def _without_pod(node: str) -> Finding:
    return Finding(
        kind=kinds.NODE_WITHOUT_POD,
        object=node,
        problem=f"node {node} has label {LABEL}=true, and no pod of the driver runs there",
        remedies=(
            "kubectl get daemonsets --all-namespaces --selector app.kubernetes.io/name=tangram",
            f"kubectl describe node {node}",
        ),
    )


def _of_unready(facts: ClusterFacts, pods: list[Document]) -> Iterator[Finding]:
    for pod in pods:
        unready, since = _unready(pod), _ready_since(pod)
        if unready and facts.age_s(since) > _PATIENCE_S and not pod["metadata"].get("deletionTimestamp"):
            namespace, name = pod["metadata"]["namespace"], name_of(pod)
            node = pod["spec"].get("nodeName")
            yield Finding(
                kind=kinds.POD_NOT_READY,
                object=full_name(pod),
                problem=f"on node {node}, pod {full_name(pod)}: {', '.join(unready)}",
                since=since,
                remedies=(
                    f"kubectl --namespace {namespace} describe pod {name}",
                    f"kubectl --namespace {namespace} logs {name} --all-containers --tail 50",
                ),
            )


def _of_two(facts: ClusterFacts, node: str, pods: list[Document]) -> Iterator[Finding]:
    owners = {
        owner["uid"]: f"{pod['metadata']['namespace']}/{owner['name']}"
        for pod in pods
        for owner in pod["metadata"].get("ownerReferences") or ()
        if owner.get("kind") == "DaemonSet"
    }
    if len(owners) > 1:
        names = sorted(owners.values())
        yield Finding(
            kind=kinds.TWO_DAEMON_SETS,
            object=node,
            problem=f"node {node} has driver {facts.driver} from DaemonSets {' and '.join(names)}",
            remedies=tuple(
                "kubectl --namespace {} get daemonset {}".format(*name.split("/")) for name in names
            ),
        )


def waiting_findings(facts: ClusterFacts) -> Iterator[Finding]:
    """Yield the pods that have a node and devices of the driver, and wait for them to be prepared."""
    with_devices = {full_name(one): one for one in facts.claims if facts.results(one)}
    for pod in facts.pods:
        since, node = _condition(pod, "PodScheduled"), pod["spec"].get("nodeName")
        claims = [one for one in _claims_of(pod) if one in with_devices]
        is_waiting = node and claims and part(pod, "status").get("phase") == "Pending"
        if not is_waiting or _has_started(pod) or facts.age_s(since) <= _PATIENCE_S:
            continue
        reason = _event_about(facts, pod) or _told_by(with_devices[one] for one in claims)
        yield Finding(
            kind=kinds.POD_WAITS_FOR_PREPARE,
            object=full_name(pod),
            problem=f"pod {full_name(pod)} waits on node {node} for claims {', '.join(claims)}: "
            + (reason or "no event and no claim says why"),
            since=since,
            remedies=(
                f"kubectl --namespace {pod['metadata']['namespace']} describe pod {name_of(pod)}",
                facts.log_of(str(node), "plugin"),
            ),
        )


def _event_about(facts: ClusterFacts, pod: Document) -> str:
    """Return what the newest event says of a pod's devices, empty without one."""
    about = [
        one
        for one in facts.events or ()
        if one.get("reason") == _PREPARE and part(one, "regarding").get("uid") == pod["metadata"]["uid"]
    ]
    newest = max(about, key=_when, default=None)
    return " ".join(str(newest.get("note", "")).split()) if newest else ""


def _when(event: Document) -> str:
    seen = part(event, "series").get("lastObservedTime") or event.get("deprecatedLastTimestamp")
    return str(seen or event.get("eventTime") or "")


def _told_by(claims: Iterator[Document]) -> str:
    """Return what the status of claims says of devices that are not ready, empty where it says nothing."""
    return "; ".join(
        f"{device['device']}: {one.get('message', '')}"
        for claim in claims
        for device in part(claim, "status").get("devices") or ()
        for one in device.get("conditions") or ()
        if one["type"] == "Ready" and one["status"] == "False"
    )


def _claims_of(pod: Document) -> list[str]:
    namespace = pod["metadata"]["namespace"]
    made = {
        one["name"]: one.get("resourceClaimName") for one in _list(pod, "status", "resourceClaimStatuses")
    }
    asked = (
        one.get("resourceClaimName") or made.get(one["name"]) for one in _list(pod, "spec", "resourceClaims")
    )
    return [f"{namespace}/{one}" for one in asked if one]


def _has_started(pod: Document) -> bool:
    """Whether a container runs or ran, or waits for something that comes after its devices."""
    states = [part(one, "state") for one in _list(pod, "status", "containerStatuses")]
    states += [part(one, "state") for one in _list(pod, "status", "initContainerStatuses")]
    reasons = {str(part(one, "waiting").get("reason") or "") for one in states}
    return any("waiting" not in one for one in states) or bool(
        reasons - {"", "ContainerCreating", "PodInitializing"}
    )


def _unready(pod: Document) -> list[str]:
    """Return what is not ready of a pod, empty where all is."""
    found = _list(pod, "status", "containerStatuses")
    if not found:
        return ["no container has started"]
    return [_text(one) for one in found if not one.get("ready")]


def _text(container: Document) -> str:
    waiting = part(container, "state", "waiting")
    why = f" ({waiting['reason']})" if waiting.get("reason") else ""
    return f"{container['name']} is not ready{why}"


def _ready_since(pod: Document) -> str:
    return _condition(pod, "Ready") or _created(pod)


def _condition(pod: Document, kind: str) -> str:
    found = (one for one in _list(pod, "status", "conditions") if one["type"] == kind)
    return next((str(one.get("lastTransitionTime") or "") for one in found), "")


def _created(document: Document) -> str:
    return str(document["metadata"].get("creationTimestamp") or "")


def _list(document: Document, outer: str, inner: str) -> list[Document]:
    return list(part(document, outer).get(inner) or ())
