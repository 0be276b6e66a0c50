"""The option ``--policy``, and the older options that the file replaces.

An option and the policy never speak of the same thing: nobody would see which of them counts.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping
from typing import Final

from agent import node_options
from agent.policy.model import InvalidPolicy, Policy, Rule

OPTION: Final = node_options.POLICY
_REPLACED: Final[Mapping[str, Callable[[Rule], bool]]] = {
    "--gpu-modes": lambda rule: any(gpu.modes is not None for gpu in rule.gpus),
    "--compute-instances": lambda rule: any(gpu.compute_instances is not None for gpu in rule.gpus),
    "--vfs": lambda rule: any(nic.vf_count is not None or nic.vf_rate is not None for nic in rule.nics),
    "--partitions": lambda rule: rule.linked is not None,
    "--partition-policy": lambda rule: rule.linked is not None,
    "--imex-channels": lambda rule: rule.imex_channels is not None,
    "--multus-resource": lambda rule: rule.multus_resource is not None,
}
"""By option, whether a rule speaks of the same thing."""


def replaced_options(given: Namespace) -> tuple[str, ...]:
    """Return which of the options that a policy replaces are on a command line."""
    values = ((option, getattr(given, option[2:].replace("-", "_"), None)) for option in _REPLACED)
    return tuple(option for option, value in values if value)


def refuse_disagreeing(policy: Policy, options: tuple[str, ...]) -> None:
    """Refuse a policy that speaks of what an option of the program says. Raises: InvalidPolicy."""
    for option in options:
        for rule in policy.rules:
            if _REPLACED[option](rule):
                text = f"speaks of what {option} of the command line says; remove the option"
                raise InvalidPolicy(policy.subject, rule.path, None, text)


def deprecation(options: tuple[str, ...]) -> str:
    """Return the sentence about options that a policy replaces, empty without any."""
    if not options:
        return ""
    are = f"{', '.join(options)} {'is' if len(options) == 1 else 'are'}"
    return f"{are} deprecated and will go with the next release: a policy file says the same (docs/policy.md)"
