"""``tangram explain pod/NAME``: what the controller gives a pod of a running cluster now, and why."""

from __future__ import annotations

import time
from argparse import Namespace
from typing import TYPE_CHECKING, Final

from tangram.errors import BadInput, bad_argument, useless_option
from tangram.face import Face, Parser
from tangram.preparable import driver_of
from tangram.told import Told

if TYPE_CHECKING:  # the controller takes long to load, and only pods need it
    pass

_PODS: Final = ("pod", "pods", "po")
_CLAIMS: Final = ("claim", "claims", "resourceclaim", "resourceclaims")
_OTHERS: Final = ("files", "pods", "cluster", "claim", "policy", "node_name")


def add_pod(parser: Parser) -> None:
    """Add the arguments that name a pod."""
    parser.add_argument(
        "subject",
        nargs="?",
        metavar="pod/NAME|claim/NAME",
        help="a pod of a running cluster: what the controller gives it now, or why nothing; or a claim: "
        "why it has its devices, or none; both take --kubeconfig and --context too",
    )
    told = (
        "the namespace of pod/NAME or claim/NAME; default: the namespace of the "
        "kubeconfig's context; inside a pod, the namespace of that pod; otherwise `default`"
    )
    parser.add_argument("-n", "--namespace", metavar="NAME", help=told)


def take_claim(options: Namespace) -> None:
    """Understand ``claim/NAME`` as ``--cluster --claim [NAMESPACE/]NAME``. Raises: BadInput."""
    kind, _, name = str(options.subject or "").partition("/")
    if kind not in _CLAIMS:
        return
    for option in ("cluster", "claim"):
        if getattr(options, option):
            raise bad_argument(f"--{option}", None, "has no effect with claim/NAME")
    if not name or "/" in name:
        raise bad_argument(
            "explain", options.subject, "must be claim/NAME; name its namespace by --namespace"
        )
    options.cluster = True
    options.claim = f"{options.namespace}/{name}" if options.namespace else name
    options.subject = options.namespace = None


def explain_pod(options: Namespace, face: Face) -> int:
    """Explain one pod of a cluster. Raises: BadInput where there is no such pod."""
    from controller.model.pods import read_pod
    from tangram.controlled.reading import read_controlled
    from tangram.explaining.pod_in_cluster import answer_told, pod_explained

    name = _name(options)
    cluster = face.connect(options.kubeconfig, options.context)
    pod = read_pod(cluster.get("Pod", name, options.namespace or cluster.usual_namespace()))
    if pod.is_over or pod.is_leaving:
        raise BadInput(f"pod {pod.ref} has ended or is being deleted: it gets no devices any more")
    coordinator = read_controlled(cluster, driver_of(options), time.time())
    found = pod_explained(coordinator, pod, options.why_not, face.out.width)
    told = found if isinstance(found, Told) else answer_told(found)
    return told.show(face, as_json=options.json)


def check_without_pod(options: Namespace) -> None:
    """Refuse options that mean nothing without a pod. Raises: BadInput."""
    if options.namespace is not None:
        raise bad_argument("--namespace", options.namespace, "is for pod/NAME and claim/NAME")


def _name(options: Namespace) -> str:
    subject = str(options.subject)
    kind, _, name = subject.partition("/")
    if kind not in _PODS or not name or "/" in name:
        rule = "must be pod/NAME or claim/NAME; name its namespace by --namespace"
        raise bad_argument("explain", subject, rule)
    for option in _OTHERS:
        value = getattr(options, option)
        if value:
            shown = {"files": "--file", "pods": "--pod", "node_name": "--node-name"}
            text = shown.get(option, f"--{option}")
            raise useless_option(text, value, "has no effect with pod/NAME")
    return name
