"""Reads ``--policy`` and ``--node-labels`` for commands that describe a node."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from agent import node_options
from agent.inventory.model import Inventory
from agent.inventory.numbers.shared_file import NotKept
from agent.inventory.options.settings import Settings
from agent.policy.applied import settings_on
from agent.policy.effect import Effect
from agent.policy.effect_file import Damaged, EffectFile, Stored
from agent.policy.files import BadPolicy, PolicyFile, read_file
from agent.policy.option import refuse_disagreeing, replaced_options
from agent.policy.resolution import Resolution, resolve
from tangram.errors import BadInput, bad_argument
from tangram.node_options.shown import LABELS


def labels_of(text: str | None) -> Mapping[str, str]:
    """Return the labels that the option gives. Raises: BadInput."""
    found: dict[str, str] = {}
    for part in text.split(",") if text else ():
        key, is_pair, value = part.partition("=")
        if not key or not is_pair or key in found:
            raise bad_argument(LABELS, text, "must be KEY=VALUE, several with commas between them, each once")
        found[key] = value
    return found


def read_policy_file(path: Path) -> PolicyFile:
    """Return the policy of a file. Raises: BadInput."""
    try:
        return read_file(path)
    except BadPolicy as error:
        raise BadInput(str(error)) from error


def resolved(file: PolicyFile, labels: Mapping[str, str], node: Inventory) -> Resolution:
    """Return what a policy means for a node. Raises: BadInput."""
    try:
        return file.placed(lambda policy: resolve(policy, labels, node))
    except BadPolicy as error:
        raise BadInput(str(error)) from error


def with_policy(
    inventory: Inventory, options: Namespace, file: EffectFile | None
) -> tuple[Inventory, Stored | None]:
    """Return the inventory under the policy of the options, or under what is in effect on its machine.

    Raises: BadInput.
    """
    stored = _by_option(inventory, options) if options.policy is not None else _in_effect(file)
    if options.policy is None and options.node_labels is not None:
        raise bad_argument(LABELS, options.node_labels, f"has no effect without {node_options.POLICY}")
    if stored is None:
        return inventory, None
    by_options = Settings(
        linked=inventory.linked,
        modes=inventory.modes,
        split=inventory.split,
        imex_channels=inventory.imex_channels,
        vfs=inventory.vfs,
        multus_resource=inventory.multus_resource,
    )
    return settings_on(by_options, stored.effect.settings, inventory).on(inventory), stored


def _by_option(inventory: Inventory, options: Namespace) -> Stored:
    file = read_policy_file(options.policy)
    try:
        file.placed(lambda policy: refuse_disagreeing(policy, replaced_options(options)))
    except BadPolicy as error:
        raise BadInput(str(error)) from error
    return Stored(Effect(resolved(file, labels_of(options.node_labels), inventory).settings))


def _in_effect(file: EffectFile | None) -> Stored | None:
    try:
        return None if file is None else file.read()
    except (Damaged, NotKept) as error:
        raise BadInput(f"what is in effect of the policy cannot be read: {error}") from error
