"""PURE: reads a policy strictly: a field unknown, of another type, out of range or without effect is refused.

Takes a plain document; returns a policy or one error with the path of the field, the value and the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from agent.health.rules import SAYS, BadHealthRules, HealthRules, health_rules
from agent.inventory.fabric import imex
from agent.inventory.partitions import shipped_boards
from agent.inventory.vfs import multus
from agent.policy.entries.common import MOST, refuse_silent
from agent.policy.entries.gpus import read_gpu_rule
from agent.policy.entries.nics import read_nic_rule
from agent.policy.entries.nodes import read_nodes
from agent.policy.entries.topology import read_place_rule
from agent.policy.model import API_VERSION, KIND, InvalidPolicy, Linked, Policy, Rule
from daemon.command_line import InvalidOption
from daemon.logs import FORMS, LEVELS
from scheduler_core.base.errors import CoreError
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration.fields import optional_integer
from scheduler_core.frontends.partitions.table import HONOR, PREFER, table_of

_SAYS: Final = (
    "gpus",
    "nics",
    "topology",
    "partitions",
    "imexChannels",
    "multusResource",
    "health",
    "logs",
)


def read_policy(subject: str, content: object) -> Policy:
    """Return the policy of a document. Shape: ``subject`` names the file. Raises: InvalidPolicy."""
    top = Fields(content, subject, "", InvalidPolicy)
    for key, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if top.text(key) != wanted:
            raise top.refuse(key, f"must be {wanted}", top.text(key))
    top.only("apiVersion", "kind", "metadata", "rules")
    if "rules" not in top.values:
        raise top.refuse("rules", "is required; an empty list leaves every node as it is")
    return Policy(subject, tuple(_rule(one) for one in top.children("rules", MOST)))


def _rule(fields: Fields) -> Rule:
    fields.only("nodes", *_SAYS)
    refuse_silent(fields, _SAYS)
    form, level = _logs(fields)
    return Rule(
        path=fields.path,
        nodes=read_nodes(fields),
        gpus=tuple(read_gpu_rule(one) for one in fields.children("gpus", MOST)),
        nics=tuple(read_nic_rule(one) for one in fields.children("nics", MOST)),
        places=tuple(read_place_rule(one) for one in fields.children("topology", MOST)),
        linked=_linked(fields),
        imex_channels=optional_integer(fields, "imexChannels", least=0, most=imex.MOST),
        multus_resource=_multus(fields),
        health=_health(fields),
        log_form=form,
        log_level=level,
    )


def _logs(rule: Fields) -> tuple[str | None, str | None]:
    """Return the form and the level of the log."""
    if not rule.has("logs"):
        return None, None
    said = rule.child("logs")
    says = ("format", "level")
    said.only(*says)
    refuse_silent(said, says)
    return _word(said, "format", FORMS), _word(said, "level", LEVELS)


def _word(said: Fields, key: str, words: Sequence[str]) -> str | None:
    rule = f"must be one of {', '.join(words)}"
    return said.text(key, rule=lambda text: None if text in words else rule) if said.has(key) else None


def _linked(rule: Fields) -> Linked | None:
    if not rule.has("partitions"):
        return None
    said = rule.child("partitions")
    said.only("board", "table", "policy")
    if said.has("board") == said.has("table"):
        raise said.refuse("", "must have either board or table")
    policy = said.text("policy", PREFER)
    if policy not in (HONOR, PREFER):
        raise said.refuse("policy", f"must be {HONOR} or {PREFER}", policy)
    if said.has("board"):
        board = said.text("board")
        if board not in shipped_boards():
            raise said.refuse("board", f"must be one of {', '.join(shipped_boards())}", board)
        return Linked(board=board, is_honored=policy == HONOR)
    table = said.child("table")
    try:
        found = table_of(f"{rule.subject}: {table.path}", table.values, any_name=True)
    except CoreError as error:
        raise table.refuse("", str(error)) from error
    if not any(found.by_size.values()):
        raise table.refuse("", "has no partition")
    return Linked(table=table.values, is_honored=policy == HONOR)


def _multus(rule: Fields) -> str | None:
    if not rule.has("multusResource"):
        return None
    text = rule.text("multusResource")
    try:
        return multus.read_multus_resource(text)
    except InvalidOption as error:
        raise rule.refuse("multusResource", multus.RULE, text) from error


def _health(rule: Fields) -> HealthRules | None:
    if not rule.has("health"):
        return None
    said = rule.child("health")
    try:
        found = health_rules(said.values)
    except BadHealthRules as error:
        raise rule.refuse(error.key, error.rule, error.value) from error
    refuse_silent(said, SAYS)
    return found
