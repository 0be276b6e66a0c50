"""What ``tangram --help`` says of each subcommand. Loading a subcommand takes longer than printing this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SUMMARIES: Final[Mapping[str, str]] = {
    "demo": "follow a claim from hardware to what a container gets, on a simulated machine",
    "show": "show what a node publishes",
    "top": "show who holds which GPUs and NICs of a node or a cluster, and what is free",
    "allocate": "allocate claims from files, or say why they do not fit (exit status 1)",
    "validate": "check claims, classes, pods, slices and policies in files (exit status 2: one has an error)",
    "migrate": "rewrite claims and pods of NVIDIA's drivers as Tangram's (exit status 1: some of it stays)",
    "conformance": "run case files against this core (exit status 1: some failed, 3: some are unsupported)",
    "explain": "explain why claims do not fit (exit status 1), or why they get these devices and not others",
    "pending": "show the pods of a cluster that wait for devices of the controller, and why",
    "plan": "say how much more fits, whether a workload does, and what to end for it (exit status 1: no fit)",
    "simulate": "replay a trace of claims under the policies: who waits, what is in use, what is fragmented",
    "report": "write a page of who holds which devices and which pods wait, as one HTML file",
    "serve": "serve the page of tangram report for a running cluster, kept up to date; nothing is written",
    "doctor": "say what is stuck on a node or in a cluster, and what to do (exit status 1: something is)",
    "classes": "show resource classes and place the pods that ask for them (exit status 1: one does not fit)",
    "bench": "time the core, on its own benchmarks or on claims from a file (exit status 1: a wrong answer)",
    "node": "simulated machines: list, show, create, record, break and reboot them",
    "completion": "print the completion script for bash, zsh or fish",
    "policy": "check the policy file of a fleet, and show what it means for a node",
    "agent": "publish this node's devices: tangram agent --help",
    "plugin": "run the kubelet plugin: tangram plugin --help",
    "controller": "allocate the claims of pending pods in a cluster: tangram controller --help",
}
