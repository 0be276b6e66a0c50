"""What a person reads who opens a shell in the cluster: what runs, what to try, how to leave."""

from __future__ import annotations

from launcher.build import CHECKOUT
from launcher.settings import Settings

_EXAMPLES = CHECKOUT / "deploy" / "examples" / "cluster"
_FIRST = "four-partitions"


def welcome(settings: Settings) -> str:
    """Return a few lines; only commands that work in this cluster are in them."""
    machine = settings.machine.stem if settings.machine else "two A100, as KEP-4815 lists them"
    lines = ["", f"This is Kubernetes {settings.version}, in namespaces of its own."]
    if settings.is_bare:
        lines += ["Tangram is not installed.", "  kubectl get nodes"]
    else:
        lines += [
            f"Each node has simulated GPUs ({machine}); Tangram has published them. Try:",
            "  kubectl get resourceslices",
            f"  kubectl apply -f {_EXAMPLES / f'{_FIRST}.yaml'}",
            f"  kubectl wait --for=condition=Ready pod/{_FIRST} && kubectl logs {_FIRST}",
            "  kubectl get pods,resourceclaims",
            f"More examples are in {_EXAMPLES}.",
        ]
    lines += [f"Logs are in {settings.folder / 'logs'}. Leave with exit; nothing stays behind.", ""]
    return "\n".join(lines)
