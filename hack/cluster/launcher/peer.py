"""Another driver on each node, to compare ours with: the public dra-example-driver, with no hardware.

In goes a node; out comes the part to start there. Its device class has the driver's name.
"""

from __future__ import annotations

import json
from pathlib import Path

from launcher.node import Node
from launcher.part import PartSpec

DRIVER = "gpu.example.com"
_SOCKET = Path("var/lib/kubelet/plugins", DRIVER, "dra.sock")


def peer_spec(node: Node, program: Path, kubeconfig: Path) -> PartSpec:
    """Return how the driver starts on a node."""
    options = (f"--node-name={node.name}", f"--kubeconfig={kubeconfig}", "--cdi-root=/var/run/cdi")
    return PartSpec(
        name=f"peer-{node.name}",
        argv=node.inside((str(program), *options)),
        is_ready=lambda: (node.root / _SOCKET).exists(),  # noqa: PLW0108 - a reboot makes another root
    )


def device_class() -> str:
    """Return the class of its devices, as JSON."""
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    document = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": DRIVER},
        "spec": {"selectors": [selector]},
    }
    return json.dumps(document)
