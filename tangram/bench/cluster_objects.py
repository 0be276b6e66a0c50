"""The objects that the cluster benchmark creates. Takes names; returns documents."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tangram.bench.cluster_port import DRIVER, Document

BENCH_DRIVER: Final = "bench.tangram.dev"
_IMAGE: Final = "localhost/busybox:1"
PARTITIONS: Final = f"mig.{DRIVER}"
_PROFILES: Final = ("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb")
_PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")


def template(name: str, device_class: str) -> Document:
    """Return the template of a claim for one device of a class, whichever."""
    request = {"name": "device", "exactly": {"deviceClassName": device_class}}
    return {"metadata": {"name": name}, "spec": {"spec": {"devices": {"requests": [request]}}}}


def four_partitions(name: str) -> Document:
    """Return a claim for the four partitions of KEP-4815's, all on one GPU."""
    requests = [
        {"name": f"r{number}", "exactly": {"deviceClassName": PARTITIONS, "selectors": [_profile(profile)]}}
        for number, profile in enumerate(_PROFILES)
    ]
    constraints = [{"matchAttribute": f"{DRIVER}/parentUUID"}]
    return {
        "metadata": {"name": name},
        "spec": {"devices": {"requests": requests, "constraints": constraints}},
    }


def _profile(name: str) -> Mapping[str, Any]:
    return {"cel": {"expression": f'device.attributes["{DRIVER}"].profile == "{name}"'}}


def on_node(node: str) -> Mapping[str, Any]:
    """Return what a pod's spec says to be scheduled on one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def pod(name: str, where: Mapping[str, Any], claims: Sequence[Mapping[str, str]] = ()) -> Document:
    """Return a pod that sleeps. Shape: ``where`` and ``claims`` as in a pod's spec."""
    container = {
        "name": "main",
        "image": _IMAGE,
        "imagePullPolicy": "IfNotPresent",
        # A shell that ends at once on a signal: the grace period must not be measured.
        "command": ["sh", "-c", 'trap "exit 0" TERM; sleep 86400 & wait'],
        "resources": {"claims": [{"name": claim["name"]} for claim in claims]},
    }
    return {
        "metadata": {"name": name},
        "spec": {
            "hostNetwork": True,  # the time to set up a pod network must not be measured
            # With 0 the object would be gone, and its device given to the next, before the node has let go.
            "terminationGracePeriodSeconds": 5,
            "automountServiceAccountToken": False,
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
            "resourceClaims": list(claims),
            **where,
        },
    }


def rights(account: str, namespace: str) -> Document:
    """Return the binding that gives a service account what Tangram's own may do.

    The policies for Tangram's own let it write slices of its driver only; they do not bind this one.
    """
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tangram"}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return {"metadata": {"name": account}, "roleRef": role, "subjects": [subject]}


def agent_pod(daemonset: Document, name: str, node: str, account: str) -> Document:
    """Return a pod with the DaemonSet's agent, publishing the node's devices once more for another driver."""
    spec: dict[str, Any] = copy.deepcopy(daemonset["spec"]["template"]["spec"])
    agent = next(found for found in spec["containers"] if found["name"] == "agent")
    for probe in _PROBES:
        agent.pop(probe, None)
    kept = [word for word in agent.get("args", ()) if not word.startswith("--metrics-address")]
    agent["args"] = [*kept, f"--driver-name={BENCH_DRIVER}"]
    mounted = {mount["name"] for mount in agent.get("volumeMounts", ())}
    spec |= {
        "serviceAccountName": account,
        "containers": [agent],
        "volumes": [volume for volume in spec.get("volumes", ()) if volume["name"] in mounted],
        "nodeName": node,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 5,
    }
    return {"metadata": {"name": name}, "spec": spec}
