"""Options of the chart beside kustomizations that do the same: what tests/house/test_chart.py compares.

A case is the options, as ``helm --set`` has them, and the lines of a kustomization over ``resources``, in
which ``../deploy`` is the folder deploy of the checkout.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

IMAGE = "registry.example.com/tangram"
SERVED = {
    "monitoring.coreos.com/v1/PodMonitor": "the Prometheus operator",
    "monitoring.coreos.com/v1/PrometheusRule": "the Prometheus operator",
    "cert-manager.io/v1/Certificate": "cert-manager",
    "cert-manager.io/v1/Issuer": "cert-manager",
}
"""Kinds that a cluster must serve for some options, with what brings them."""
_DAEMON_SET = "{kind: DaemonSet, name: tangram}"
_CONTROLLER = "{kind: Deployment, name: tangram-controller}"
_POD = "/spec/template/spec"
_PARTS = "../deploy/manifests"


@dataclass(frozen=True, slots=True)
class Case:
    """Options of the chart and a kustomization. Shape: ``files`` are values from files, by option."""

    options: tuple[str, ...] = ()
    resources: str = "overlays/nvidia"
    lines: str = ""
    files: tuple[tuple[str, str], ...] = ()
    image: str = IMAGE
    namespace: str = "tangram-system"

    @property
    def kustomization(self) -> str:
        listed = ", ".join(f"{_PARTS}/{one}" for one in self.resources.split())
        name = f"images: [{{name: registry.invalid/tangram, newName: {IMAGE}, newTag: 0.1.0}}]\n"
        return f"resources: [{listed}]\n{name if self.image == IMAGE else ''}{self.lines}"


def _patch(target: str, *operations: tuple[str, str, object]) -> str:
    lines = [
        f"    - {json.dumps({'op': name, 'path': path, 'value': value})}" for name, path, value in operations
    ]
    return "\n".join((f"- target: {target}", "  patch: |-", *lines, ""))


def _arguments(*given: str, containers: tuple[int, ...] = (0, 1)) -> tuple[tuple[str, str, object], ...]:
    return tuple(("add", f"{_POD}/containers/{number}/args/-", one) for number in containers for one in given)


def _folders(new: str) -> tuple[tuple[str, str, object], ...]:
    """Return the changes of the base for another kubelet's folder, place by place."""
    volumes = {"records": 1, "gpu-numbers": 3, "health": 4, "claims": 5, "registration": 6}
    inner = {"records": "", "gpu-numbers": "/gpu-numbers", "health": "/health", "claims": "/claims"}
    plugins = f"{new}/plugins/tangram.dev"
    paths = {name: f"{plugins}{end}" for name, end in inner.items()} | {
        "registration": f"{new}/plugins_registry"
    }
    probe = f'test -S "{new}/plugins/$DRIVER_NAME/dra-$POD_UID.sock"'
    found: list[tuple[str, str, object]] = []
    # The overlay's volumes and mounts stand before the base's.
    for name, place in volumes.items():
        found.append(("test", f"{_POD}/volumes/{place + 3}/name", name))
        found.append(("replace", f"{_POD}/volumes/{place + 3}/hostPath/path", paths[name]))
    for container, place, name in (
        *((0, 2, "gpu-numbers"), (0, 3, "health"), (0, 4, "claims")),
        *((1, 3, "records"), (1, 4, "registration")),
    ):
        at = f"{_POD}/containers/{container}/volumeMounts/{place}"
        found += [("test", f"{at}/name", name), ("replace", f"{at}/mountPath", paths[name])]
    for when in ("startupProbe", "readinessProbe"):
        found.append(("replace", f"{_POD}/containers/1/{when}/exec/command/2", probe))
    return tuple(found)


def _cleaned(name: str, path: str, kind: str) -> tuple[tuple[str, str, object], ...]:
    at = f"{_POD}/initContainers/0"
    return (
        ("add", f"{at}/args/-", f"--{name}-dir={path}"),
        ("add", f"{at}/volumeMounts/-", {"name": name, "mountPath": path}),
        ("add", f"{_POD}/volumes/-", {"name": name, "hostPath": {"path": path, "type": kind}}),
    )


_MACHINE = "name: other\nsummary: another machine\n"
_POLICY = (
    "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n- gpus: [{select: {}, modes: [whole]}]\n"
)
_TOLERATION = {"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
_SET_TOLERATION = ("key=gpu", "operator=Equal", "value=yes", "effect=NoSchedule")
_AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["gpu"]}]}
            ]
        }
    }
}
_WITH_CONTROLLER = "overlays/nvidia overlays/controller"
_NAMED = (
    f"components: [{_PARTS}/driver-name]\n"
    "configMapGenerator:\n- name: driver\n  literals: [name=gpu.example.com]\n"
    '  options: {annotations: {config.kubernetes.io/local-config: "true"}}\n'
)
_CLEANED = "namespace: tangram-system\n"

CASES = {
    "the usual": Case(),
    "NICs only": Case(("hardware=nics",), "base"),
    "simulated": Case(
        ("hardware=simulated", "image.repository=localhost/tangram", "image.tag=test"),
        "overlays/simulated",
        image="localhost/tangram",
    ),
    "another machine": Case(
        ("hardware=simulated", "image.repository=localhost/tangram", "image.tag=test"),
        "overlays/simulated",
        "configMapGenerator:\n- name: simulated-node\n  namespace: tangram-system\n  behavior: replace\n"
        f"  literals: [{json.dumps('node.yaml=' + _MACHINE)}]\n",
        (("simulatedMachine", _MACHINE),),
        image="localhost/tangram",
    ),
    "a digest, pulled always with a secret": Case(
        (f"image.digest=sha256:{'a' * 64}", "image.pullPolicy=Always", "imagePullSecrets[0].name=regcred"),
        lines="patches:\n"
        + _patch(
            _DAEMON_SET,
            *(("replace", f"{_POD}/containers/{one}/imagePullPolicy", "Always") for one in (0, 1)),
            *(("replace", f"{_POD}/containers/{one}/image", f"{IMAGE}@sha256:{'a' * 64}") for one in (0, 1)),
            ("add", f"{_POD}/imagePullSecrets", [{"name": "regcred"}]),
        ),
        image="changed by the patch",
    ),
    "the driver in a container": Case(
        ("driverRoot=/run/nvidia/driver",),
        lines="patches:\n" + _patch(_DAEMON_SET, *_arguments("--driver-root=/run/nvidia/driver")),
    ),
    "another kubelet's folder": Case(
        ("kubeletDir=/data/kubelet",),
        lines="patches:\n"
        + _patch(
            _DAEMON_SET,
            *_folders("/data/kubelet"),
            *_arguments("--kubelet-dir=/data/kubelet"),
        ),
    ),
    "another folder of CDI documents": Case(
        ("cdiDir=/etc/cdi",),
        lines="patches:\n"
        + _patch(
            _DAEMON_SET,
            ("test", f"{_POD}/volumes/10/name", "cdi"),
            ("replace", f"{_POD}/volumes/10/hostPath/path", "/etc/cdi"),
            ("test", f"{_POD}/containers/1/volumeMounts/5/name", "cdi"),
            ("replace", f"{_POD}/containers/1/volumeMounts/5/mountPath", "/etc/cdi"),
            *_arguments("--cdi-dir=/etc/cdi", containers=(1,)),
        ),
    ),
    "the container toolkit": Case(
        ("nvidiaCdiHook=/usr/bin/nvidia-cdi-hook",),
        lines="patches:\n"
        + _patch(_DAEMON_SET, *_arguments("--nvidia-cdi-hook=/usr/bin/nvidia-cdi-hook", containers=(1,))),
    ),
    "a policy": Case(
        lines="patches:\n"
        + _patch("{kind: ConfigMap, name: tangram-policy}", ("replace", "/data/policy.yaml", _POLICY)),
        files=(("policy", _POLICY),),
    ),
    "arguments": Case(
        (
            "arguments[0]=--partitions=hgx-h100",
            "agent.arguments[0]=--resync=60",
            "plugin.arguments[0]=--grace-period=10",
        ),
        lines="patches:\n"
        + _patch(
            _DAEMON_SET,
            *_arguments("--partitions=hgx-h100"),
            *_arguments("--resync=60", containers=(0,)),
            *_arguments("--grace-period=10", containers=(1,)),
        ),
    ),
    "resources": Case(
        ("agent.resources.limits.memory=512Mi", "plugin.resources.requests.cpu=50m"),
        lines="patches:\n"
        + _patch(
            _DAEMON_SET,
            ("replace", f"{_POD}/containers/0/resources/limits/memory", "512Mi"),
            ("replace", f"{_POD}/containers/1/resources/requests/cpu", "50m"),
        ),
    ),
    "other nodes": Case(
        (
            *(f"tolerations[0].{one}" for one in _SET_TOLERATION),
            "nodeSelector.pool=gpu",
        ),
        lines="patches:\n"
        + _patch(
            _DAEMON_SET,
            ("replace", f"{_POD}/tolerations", [_TOLERATION]),
            ("add", f"{_POD}/nodeSelector", {"pool": "gpu"}),
            ("replace", f"{_POD}/affinity", _AFFINITY),
        ),
        files=(("affinity", json.dumps(_AFFINITY)),),
    ),
    "pods of a device plugin": Case(
        ("devicePluginPods=true",),
        lines="patches:\n"
        + _patch(
            "{kind: DeviceClass, name: gpu.tangram.dev}",
            ("add", "/spec/extendedResourceName", "nvidia.com/gpu"),
        ),
    ),
    "metrics": Case(("metrics.enabled=true",), lines=f"components: [{_PARTS}/monitoring]\n"),
    "the controller": Case(("controller.enabled=true",), _WITH_CONTROLLER),
    "the controller without a webhook": Case(
        ("controller.enabled=true", "controller.webhook=false"),
        _WITH_CONTROLLER,
        f"components: [{_PARTS}/without-webhook]\n",
    ),
    "the controller with cert-manager": Case(
        ("controller.enabled=true", "controller.certManager=true"),
        _WITH_CONTROLLER,
        f"components: [{_PARTS}/cert-manager]\n",
    ),
    "devices of several nodes": Case(
        ("controller.enabled=true", "controller.multiNodePools=true"), f"{_WITH_CONTROLLER} multi-node-pools"
    ),
    "the page": Case(
        ("controller.enabled=true", "controller.page.enabled=true"),
        _WITH_CONTROLLER,
        f"components: [{_PARTS}/page]\n",
    ),
    "the page with another certificate, without a webhook": Case(
        (
            "controller.enabled=true",
            "controller.webhook=false",
            "controller.page.enabled=true",
            "controller.page.tlsSecret=gpus.example.com",
        ),
        _WITH_CONTROLLER,
        f"components: [{_PARTS}/without-webhook, {_PARTS}/page]\n"
        "patches:\n"
        + _patch(
            _CONTROLLER,
            ("test", f"{_POD}/volumes/1/name", "page-tls"),
            ("replace", f"{_POD}/volumes/1/secret/secretName", "gpus.example.com"),
        ),
    ),
    "the page with cert-manager for the webhook": Case(
        ("controller.enabled=true", "controller.certManager=true", "controller.page.enabled=true"),
        _WITH_CONTROLLER,
        f"components: [{_PARTS}/cert-manager, {_PARTS}/page]\n",
    ),
    "another controller": Case(
        (
            "controller.enabled=true",
            "controller.replicas=3",
            "controller.resources.limits.memory=2Gi",
            *(f"controller.tolerations[0].{one}" for one in _SET_TOLERATION),
        ),
        _WITH_CONTROLLER,
        "patches:\n"
        + _patch(
            _CONTROLLER,
            ("replace", "/spec/replicas", 3),
            ("replace", f"{_POD}/containers/0/resources/limits/memory", "2Gi"),
            ("replace", f"{_POD}/tolerations", [_TOLERATION]),
        ),
    ),
    "another driver's name": Case(("driverName=gpu.example.com",), lines=_NAMED),
    "another driver's name, of everything": Case(
        (
            "driverName=gpu.example.com",
            "devicePluginPods=true",
            "controller.enabled=true",
            "controller.multiNodePools=true",
            "metrics.enabled=true",
        ),
        f"{_WITH_CONTROLLER} multi-node-pools",
        _NAMED.replace("components: [", f"components: [{_PARTS}/monitoring, ")
        + "patches:\n"
        + _patch(
            "{kind: DeviceClass, name: gpu.tangram.dev}",
            ("add", "/spec/extendedResourceName", "nvidia.com/gpu"),
        ),
    ),
    "clean nodes": Case(("cleanNodes=true",), "clean-nodes", _CLEANED),
    "clean nodes of everything that was chosen": Case(
        (
            "cleanNodes=true",
            "driverName=gpu.example.com",
            "kubeletDir=/data/kubelet",
            "cdiDir=/etc/cdi",
            "image.pullPolicy=Always",
            "imagePullSecrets[0].name=regcred",
            "controller.enabled=true",
            "metrics.enabled=true",
        ),
        "clean-nodes",
        _CLEANED
        + _NAMED
        + "patches:\n"
        + _patch(
            "{kind: DaemonSet, name: clean-nodes}",
            *_cleaned("kubelet", "/data/kubelet", "Directory"),
            *_cleaned("cdi", "/etc/cdi", "DirectoryOrCreate"),
            ("replace", f"{_POD}/initContainers/0/imagePullPolicy", "Always"),
            ("replace", f"{_POD}/containers/0/imagePullPolicy", "Always"),
            ("add", f"{_POD}/imagePullSecrets", [{"name": "regcred"}]),
        ),
    ),
    "definitions that stay": Case(
        ("keepDefinitions=true",),
        lines="patches:\n"
        + _patch(
            "{kind: CustomResourceDefinition}",
            ("add", "/metadata/annotations", {"helm.sh/resource-policy": "keep"}),
        ),
    ),
    "another namespace": Case(lines="namespace: gpus\n", namespace="gpus"),
}
