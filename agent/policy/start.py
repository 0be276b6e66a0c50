"""What agent and plugin do with their policy when they start: refuse a bad one, tell of older options."""

from __future__ import annotations

import logging
from pathlib import Path

from agent.inventory.numbers.shared_file import NotKept
from agent.policy.effect_file import EffectFile
from agent.policy.files import BadPolicy
from agent.policy.option import deprecation
from agent.policy.watched import read_checked

_log = logging.getLogger(__name__)


def begin_policy(policy: Path | None, options: tuple[str, ...], file: EffectFile) -> None:
    """Check the policy of a program that starts, and tell once of options that a policy replaces.

    A bad policy does not keep a program from starting on a node where an earlier one is in effect: pods could
    neither start nor end there.
    Raises: BadPolicy where nothing is in effect.
    """
    told = deprecation(options)
    if told:
        _log.warning("%s", told)
    if policy is None:
        return
    try:
        read_checked(policy, options)
    except BadPolicy as error:
        if file.stamp() is None:
            raise
        _log.error("the policy is refused, and what was in effect stays: %s", error)


def forget_without_policy(policy: Path | None, file: EffectFile) -> None:
    """Remove what an earlier policy put into effect, where there is none now: the options count again."""
    if policy is None:
        try:
            file.remove()
        except NotKept as error:
            _log.error("an earlier policy may stay in effect: %s", error)
