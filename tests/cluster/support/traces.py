"""What of Tangram is in a cluster and on a node: objects of all kinds by name, files by path."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

_NODE_FOLDERS = (
    "var/lib/kubelet/plugins",
    "var/lib/kubelet/plugins_registry",
    "var/lib/tangram",
    "run/cdi",
    "etc/cdi",
    "run/tangram",
)
# Events are the API server's log of what happened; they go by themselves.
_EVENTS = {"events", "events.events.k8s.io"}


def traces_of(
    run: Callable[[str], str], root: Path, ours: re.Pattern[str] = re.compile("tangram")
) -> set[str]:
    """Return the names.

    Shape: ``run`` returns what a command prints; ``root`` is the root of the node; ``ours`` is found in names
           that count.
    """
    kinds = set(run("kubectl api-resources --verbs=list --output=name").split()) - _EVENTS
    objects = run(f"kubectl get {','.join(sorted(kinds))} --all-namespaces --output=name --ignore-not-found")
    files = (path for folder in _NODE_FOLDERS for path in (root / folder, *(root / folder).rglob("*")))
    on_node = {str(path.relative_to(root)) for path in files if path.exists() or path.is_symlink()}
    return {one for one in {*objects.split(), *on_node} if ours.search(one)}
