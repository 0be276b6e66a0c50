"""``tangram policy check``: whether a policy file is right, and what it means for a node."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from agent.inventory import discover
from agent.policy.files import PolicyFile
from agent.policy.resolution import Resolution
from tangram.face import DONE, Face, Subparsers, add_command
from tangram.node_options.policy import labels_of, read_policy_file, resolved
from tangram.node_options.shown import LABELS
from tangram.pictures.counted import counted
from tangram.pictures.policy import policy_table, settings_value
from tangram.program.throwaway import throwaway_folder
from tangram.summaries import SUMMARIES

_EXAMPLE: Final = """tangram policy check deploy/examples/policy/fleet.yaml
  tangram policy check deploy/examples/policy/fleet.yaml \\
      --node dgx-a100 --node-labels tangram.dev/pool=inference

Without --node only the file is judged. With it, what each GPU and NIC of the machine gets is shown, and an
entry that matches nothing there is told.

exit status:
  0  the policy is right
  2  it is wrong, or the options are; one message says where"""


def add(parsers: Subparsers) -> None:
    """Add the subcommand and its own subcommand."""
    policy = parsers.add_parser(
        "policy",
        help=SUMMARIES["policy"],
        description="The policy file of a fleet (docs/policy.md).",
        epilog="example:\n  tangram policy check deploy/examples/policy/fleet.yaml",
    )
    below = policy.add_subparsers(required=True, metavar="check")
    check = add_command(below, "check", SUMMARIES["policy"], _EXAMPLE, _check)
    check.add_argument("file", metavar="FILE", type=Path, help="the policy, YAML or JSON")
    check.add_argument("--node", metavar="NODE", help="a shipped simulated machine, or a node file")
    check.add_argument(LABELS, metavar="KEY=VALUE,...", help="the labels of the node; default: none")


def _check(options: Namespace, face: Face) -> int:
    found, labels = read_policy_file(options.file), labels_of(options.node_labels)
    if options.node is None:
        _show_rules(found, labels, options, face)
        return DONE
    with throwaway_folder() as folder:
        node = face.machines.simulated(options.node, folder / "machine")
        inventory = discover(node.machine.readers, node.name)
    resolution = resolved(found, labels, inventory)
    if options.json:
        face.out.json({"valid": True, **_value(found, labels, resolution)})
        return DONE
    face.out.show(policy_table(resolution.settings, inventory))
    for sentence in resolution.idle:
        face.out.show(Text(f"warning: {sentence}", style="yellow"))
    face.out.text(f"{options.file}: right for node {node.name} with {_labels_text(labels)}")
    return DONE


def _show_rules(found: PolicyFile, labels: Mapping[str, str], options: Namespace, face: Face) -> None:
    rules = found.policy.rules
    mine = [rule.path for rule in rules if rule.is_for(labels)]
    if options.json:
        face.out.json({"valid": True, "rules": len(rules), "matching": mine})
        return
    face.out.text(f"{options.file}: right; {counted(len(rules), 'rule')}")
    if options.node_labels is not None:
        face.out.text(f"for a node with {_labels_text(labels)}: {', '.join(mine) or 'no rule'}")


def _value(found: PolicyFile, labels: Mapping[str, str], resolution: Resolution) -> dict[str, Any]:
    return {
        "rules": len(found.policy.rules),
        "matching": [rule.path for rule in found.policy.rules if rule.is_for(labels)],
        "settings": settings_value(resolution.settings),
        "warnings": list(resolution.idle),
    }


def _labels_text(labels: Mapping[str, str]) -> str:
    return f"labels {', '.join(f'{key}={value}' for key, value in labels.items())}" if labels else "no labels"
