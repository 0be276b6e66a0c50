"""Reads ``--vfs``: how many VFs the NICs of a node shall have, and how much these may send.

Takes the text of the option; returns rules, or one error. The option may name NICs that the node does not
have yet: the description of the node lists them.
"""

from __future__ import annotations

import re
from typing import Final

from agent import node_options
from agent.hardware.types import normal_bdf
from agent.inventory.vfs.rules import VfRate, VfRule, VfRules
from daemon.command_line import InvalidOption, require

OPTION: Final = node_options.VFS
_ALL: Final = "all"
_KEEP: Final = "keep"
_MOST: Final = 2**16 - 1
"""What the kernel's ``sriov_numvfs`` can hold."""
_RULE: Final = re.compile(r"(static|on-demand):([1-9][0-9]{0,4})", re.ASCII)
_RATE: Final = re.compile(r"([1-9][0-9]{0,8})/([1-9][0-9]{0,8})", re.ASCII)
_NAME: Final = re.compile(r"[^\s/:,=]{1,15}")
"""What the kernel takes as an interface's name, without the signs of this option."""
_FORM: Final = (
    "must be NIC=static:N, NIC=on-demand:N or NIC=keep, several with commas between them; NIC is a PCI "
    f"address, an interface or all, each once; N is from 1 to {_MOST}; behind each may be @VF/ALL, Mbit/s of "
    "a VF and of all VFs of the NIC, VF at most ALL"
)


def read_vf_rules(text: str | None) -> VfRules | None:
    """Return the rules that the option gives, None without it. Raises: InvalidOption."""
    if text is None:
        return None
    found: dict[str, VfRule | None] = {}
    rates: dict[str, VfRate] = {}
    for part in text.split(","):
        nic, _, said = part.partition("=")
        key = _nic(nic)
        require(key is not None and key not in found, OPTION, text, _FORM)
        rule, has_rate, rate = said.partition("@")
        found[key or ""] = _rule(rule, text)
        if has_rate:
            rates[key or ""] = _rate(rate, text)
    rest, rest_rate = found.pop(_ALL, None), rates.pop(_ALL, None)
    return VfRules(found, rest, rates, rest_rate)


def _nic(text: str) -> str | None:
    try:
        return normal_bdf(text)
    except ValueError:
        return text if _NAME.fullmatch(text) and text not in (".", "..") else None


def _rule(said: str, text: str) -> VfRule | None:
    if said == _KEEP:
        return None
    found = _RULE.fullmatch(said)
    if found is None or int(found[2]) > _MOST:
        raise InvalidOption(OPTION, text, _FORM)
    return VfRule(int(found[2]), on_demand=found[1] == "on-demand")


def _rate(said: str, text: str) -> VfRate:
    found = _RATE.fullmatch(said)
    if found is None or int(found[1]) > int(found[2]):
        raise InvalidOption(OPTION, text, _FORM)
    return VfRate(vf=int(found[1]), nic=int(found[2]))
