"""The control plane: etcd, API server, scheduler, controllers, as specs.

In go the settings and feature gates; out come ``PartSpec``s and the files that they read. The API server
makes its own certificate, whose key also signs service accounts: no other program is needed for keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from launcher.part import PartSpec
from launcher.probe import answers, api_is_ready
from launcher.settings import (
    SERVICE_ADDRESS,
    SERVICE_RANGE,
    TOKENS,
    Settings,
    gates_argument,
    node_address,
)

_ETCD = "http://127.0.0.1:2379"
# Old versions of what agents publish; groups of pods, which are there with the gate GenericWorkload only.
_APIS = ("resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2")
_MORE_APIS = {"1.37": ("scheduling.k8s.io/v1beta1",)}
CONTROL_PLANE = ("etcd", "apiserver", "scheduler", "controllers")


def write_files(settings: Settings) -> None:
    """Write tokens and kubeconfigs: one for the administrator, one for each node."""
    lines = [f'{TOKENS["admin"]},admin,admin,"system:masters"']
    lines += [
        f'{TOKENS["node"]}-{name},system:node:{name},{name},"system:nodes"' for name in settings.node_names
    ]
    (settings.folder / "tokens.csv").write_text("\n".join(lines) + "\n")
    settings.kubeconfig.write_text(_kubeconfig(settings, TOKENS["admin"]))
    for name in settings.node_names:
        (settings.folder / f"{name}.kubeconfig").write_text(_kubeconfig(settings, f"{TOKENS['node']}-{name}"))


def _kubeconfig(settings: Settings, token: str) -> str:
    # The authority is a file because the API server writes it at its first start. JSON is YAML.
    authority = str(settings.folder / "certs" / "apiserver.crt")
    cluster = {"server": f"https://{SERVICE_ADDRESS}:443", "certificate-authority": authority}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "tangram", "cluster": cluster}],
        "users": [{"name": "user", "user": {"token": token}}],
        "contexts": [{"name": "tangram", "context": {"cluster": "tangram", "user": "user"}}],
        "current-context": "tangram",
    }
    return json.dumps(document, indent=1)


def etcd(settings: Settings) -> PartSpec:
    """Return the store; without fsync, since it never outlives the cluster."""
    return PartSpec(
        name="etcd",
        argv=(
            str(settings.kubernetes / "server"),
            f"--data-dir={settings.folder / 'etcd'}",
            f"--listen-client-urls={_ETCD}",
            f"--advertise-client-urls={_ETCD}",
            "--unsafe-no-fsync",
        ),
        is_ready=lambda: answers(f"{_ETCD}/health", '"health":"true"'),
    )


def apiserver(settings: Settings, gates: Mapping[str, bool]) -> PartSpec:
    """Return the API server, on the service's own address too: no kube-proxy is needed."""
    key = settings.folder / "certs" / "apiserver.key"
    disabled = [] if settings.has_controllers else ["ServiceAccount"]
    # Nobody takes the taint away where no controller does, or where it must not judge node objects.
    if not settings.has_controllers or settings.node_objects:
        disabled.append("TaintNodesByCondition")
    # The API server keeps all slices in memory once for each version that it serves.
    old = () if settings.node_objects else _APIS
    apis = [*old, *_MORE_APIS.get(settings.version, ())]
    # A kube-scheduler of 1.34 that knows taints of devices waits for their rules, which are of v1alpha3.
    if settings.version == "1.34" and gates.get("DRADeviceTaints"):
        apis.append("resource.k8s.io/v1alpha3")
    return PartSpec(
        name="apiserver",
        argv=(
            str(settings.kubernetes / "kube-apiserver"),
            f"--etcd-servers={_ETCD}",
            "--secure-port=443",
            "--bind-address=0.0.0.0",
            f"--advertise-address={node_address('node-1')}",
            f"--cert-dir={key.parent}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            f"--token-auth-file={settings.folder / 'tokens.csv'}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--enable-aggregator-routing",  # webhooks are called at their pods' addresses, without kube-proxy
            *([f"--disable-admission-plugins={','.join(disabled)}"] if disabled else []),
            "--allow-privileged",
            "--kubelet-preferred-address-types=InternalIP",
            *(["--runtime-config=" + ",".join(f"{api}=true" for api in apis)] if apis else []),
            *gates_argument(gates),
        ),
        is_ready=api_is_ready,
        limit_s=90.0,
    )


def scheduler(settings: Settings, gates: Mapping[str, bool]) -> PartSpec:
    """Return the scheduler; its client's limit is raised, else that limit is what one measures."""
    return PartSpec(
        name="scheduler",
        argv=(
            str(settings.kubernetes / "kube-scheduler"),
            *_credentials(settings),
            "--leader-elect=false",
            "--kube-api-qps=5000",
            "--kube-api-burst=5000",
            *gates_argument(gates),
        ),
        is_ready=lambda: answers("https://127.0.0.1:10259/healthz", "ok"),
    )


def controllers(settings: Settings, gates: Mapping[str, bool]) -> PartSpec:
    """Return the controller manager with all its controllers: DaemonSets need more than their own."""
    chosen = "*,-node-lifecycle-controller" if settings.node_objects else "*"
    certificates = settings.folder / "certs"
    return PartSpec(
        name="controllers",
        argv=(
            str(settings.kubernetes / "kube-controller-manager"),
            *_credentials(settings),
            "--leader-elect=false",
            f"--service-account-private-key-file={certificates / 'apiserver.key'}",
            f"--root-ca-file={certificates / 'apiserver.crt'}",
            f"--controllers={chosen}",
            *gates_argument(gates),
        ),
        is_ready=lambda: answers("https://127.0.0.1:10257/healthz", "ok"),
    )


def network_commands(settings: Settings) -> str:
    """Return the lines for ``ip -batch``: the service's address, a veth pair with a node's address each.

    A kubelet refuses a loopback address and wants a default route, which leads nowhere here.
    """
    lines = ["link set lo up", f"addr add {SERVICE_ADDRESS}/32 dev lo"]
    lines.append("link add node0 type veth peer name node0p")
    lines += [f"addr add {node_address(name)}/24 dev node0" for name in settings.node_names or ("node-1",)]
    lines += ["link set node0 up", "link set node0p up", "route add default via 10.10.0.254"]
    return "\n".join(lines) + "\n"


def _credentials(settings: Settings) -> tuple[str, ...]:
    names = ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")
    return tuple(f"--{name}={settings.kubeconfig}" for name in names)
