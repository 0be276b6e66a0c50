"""What tests of the controller in its image share: pods that say what they see, and what is left of them.

In go shipped examples; out come pods whose image is there. Waiting is ``cluster_support.eventually``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml
from cluster_support import Document, eventually, running
from launcher.client import ClusterControl
from story import ROOT

from kube_api import PODS, RESOURCE_CLAIMS, KubeApi, NotFound
from scheduler_core.model.ownership import CONDITION, GATE

SYSTEM = "tangram-system"
NAME = "tangram-controller"
GATED = [{"name": GATE}]
_SHOWS = "env; find /dev -type c; echo end; exec sleep 100000"
_SAYS = ["sh", "-c", _SHOWS]


@dataclass(frozen=True, slots=True)
class Controlled:
    """A namespace of a cluster whose devices are the controller's."""

    api: KubeApi
    control: ClusterControl
    namespace: str
    node: str

    def pod(self, document: Document) -> str:
        """Create a pod whose containers print what they see, and return its name."""
        document["metadata"].pop("namespace", None)
        document["spec"]["terminationGracePeriodSeconds"] = 0
        for container in document["spec"]["containers"]:
            container |= {"image": "localhost/busybox:1", "command": _SAYS}
        self.api.create(PODS, document, self.namespace)
        return str(document["metadata"]["name"])

    def read(self, name: str) -> Document:
        """Return a pod as it is stored."""
        return dict(self.api.get(PODS, name, self.namespace).document)

    def sees(self, name: str) -> dict[str, str]:
        """Wait until a pod runs; return its container's variables, and its device nodes without values."""
        running(self.api, name, self.namespace)
        path = f"{PODS.path(self.namespace, name)}/log"
        lines: list[str] = eventually(
            lambda: found if "end" in (found := self.api.raw_get(path).splitlines()) else [], f"log of {name}"
        )
        return dict(line.partition("=")[::2] for line in lines)

    def waits(self, name: str) -> str:
        """Wait until a pod is told that it has no devices, and return the sentence."""

        def told() -> str:
            found = self.read(name).get("status", {}).get("conditions", [])
            return "".join(one["message"] for one in found if one["type"] == CONDITION)

        return eventually(told, f"pod {name} is told why it waits")

    def given(self, name: str) -> dict[str, list[str]]:
        """Return the devices of all claims that a pod names, by request."""
        found: dict[str, list[str]] = {}
        pod = self.read(name)
        made = [one["resourceClaimName"] for one in pod["status"].get("resourceClaimStatuses", [])]
        named = [
            one["resourceClaimName"] for one in pod["spec"]["resourceClaims"] if "resourceClaimName" in one
        ]
        for claim in (*made, *named):
            status = self.api.get(RESOURCE_CLAIMS, claim, self.namespace).document["status"]
            for result in status["allocation"]["devices"]["results"]:
                found.setdefault(result["request"], []).append(result["device"])
        return found

    def end(self, *names: str) -> None:
        """Delete pods, and wait until no claim has devices and nothing is left on the node."""
        for name in names:
            self.api.delete(PODS, name, self.namespace)
        eventually(lambda: all(self._is_gone(name) for name in names), f"{names} are gone", 60)
        eventually(lambda: self.held() == [], "no claim has devices", 60)
        eventually(lambda: self.left() == [], "nothing is left on the node", 60)

    def held(self) -> list[str]:
        """Return the claims of the namespace that have devices, or that belong to a pod."""
        found = self.api.list(RESOURCE_CLAIMS, self.namespace).items
        return [
            one.metadata.name
            for one in found
            if "allocation" in one.document.get("status", {})
            or one.document["metadata"].get("ownerReferences")
        ]

    def left(self) -> list[str]:
        """Return what is left of claims on the node: MIG instances, records, CDI documents."""
        root = self.control.node_root(self.node)
        instances = (root / "var/lib/tangram/machine/root/proc/driver/nvidia/capabilities").glob(
            "gpu*/mig/gi*"
        )
        records = (root / "var/lib/kubelet/plugins/tangram.dev/claims").glob("*")
        documents = (root / "run/cdi").glob("tangram.dev-claim_*")
        return [path.name for path in (*instances, *records, *documents)]

    def _is_gone(self, name: str) -> bool:
        try:
            self.api.get(PODS, name, self.namespace)
        except NotFound:
            return True
        return False


def example(path: str, kind: str = "Pod") -> Document:
    """Return the one object of a kind in a shipped example."""
    text = Path(ROOT, "deploy/examples", path).read_text()
    (found,) = [one for one in yaml.safe_load_all(text) if one["kind"] == kind]
    return dict(found)


def half_a_gpu() -> Document:
    """Return what a claim for a partition asks for."""
    expression = 'device.attributes["tangram.dev"].profile == "3g.20gb"'
    wanted = {"deviceClassName": "mig.tangram.dev", "selectors": [{"cel": {"expression": expression}}]}
    return {"devices": {"requests": [{"name": "half", "exactly": wanted}]}}


def user(name: str, claims: list[Document], **spec: object) -> Document:
    """Return a pod with one container that uses these entries of its claims."""
    uses = [{"name": one["name"]} for one in claims]
    container = {"name": "main", "resources": {"claims": uses}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], "resourceClaims": claims, **spec}}
