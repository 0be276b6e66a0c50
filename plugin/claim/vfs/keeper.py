"""Keeps the number of VFs of a node's NICs as the rules say: NIC by NIC, each under its lock.

Takes rules; the machine and the files of made VFs change. A NIC that cannot be changed now does not keep the
others from it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from agent.hardware.errors import HardwareError
from agent.hardware.ports import Machine
from agent.hardware.types import Bdf, PhysicalFunction
from agent.inventory.vfs.rules import VfRule, VfRules
from plugin.base.errors import PluginError
from plugin.base.locks import Locks
from plugin.claim.held import held_hardware
from plugin.claim.record_store import RecordStore
from plugin.claim.vfs.judgement import VfDeed, VfJudgement, VfState, judge
from plugin.machine.lock_target import LockTarget
from plugin.machine.made_vfs import MadeVfStore
from plugin.machine.vf_supply import VfSupply

EVENT: Final = "VfsNotAsAsked"
_log = logging.getLogger(__name__)
Warn = Callable[[str, str], None]
"""Tells people that something about the node is wrong: a reason in one word, and a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VfKeeper:
    """Makes VFs that are to be there all the time, and removes those that no claim needs any more."""

    machine: Machine
    store: RecordStore
    made: MadeVfStore
    locks: Locks
    rules: Callable[[], VfRules | None]
    _told: dict[Bdf, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def keep(self, warn: Warn) -> bool:
        """Do what is due on every NIC and return whether nothing failed; a rule that waits is no failure.

        A reason that is new is logged and told with ``warn``.
        """
        rules = self.rules()
        try:
            nics = self._nics(rules) if rules is not None else {}
        except HardwareError as error:
            _log.warning("the number of VFs is not checked: %s", error)
            return False
        return all([self._kept(pf, rule, warn) for pf, rule in nics.items()])

    def forget_gone(self) -> None:
        """Forget what was made and is not there any more, before somebody else makes as many.

        A NIC that cannot be read is left to the next start.
        """
        try:
            nics = self.made.nics()
        except PluginError as error:
            _log.error("the records of VFs are kept, since they cannot be listed: %s", error)
            return
        for pf in nics:
            try:
                self._forget_if_gone(pf)
            except (PluginError, HardwareError) as error:
                _log.error(
                    "NIC %s: its record of VFs is kept, since the NIC cannot be checked: %s", pf, error
                )

    def _forget_if_gone(self, pf: Bdf) -> None:
        with self._locked(pf, "check its VFs"):
            if self._supply().made(pf) is None:
                self.made.remove(pf)

    def _nics(self, rules: VfRules) -> dict[Bdf, VfRule]:
        found = (one for one in self.machine.pci.nics() if isinstance(one, PhysicalFunction))
        ruled = ((pf.function.bdf, rules.rule_of(pf)) for pf in found)
        return {bdf: rule for bdf, rule in ruled if rule is not None}

    def _kept(self, pf: Bdf, rule: VfRule, warn: Warn) -> bool:
        try:
            with self._locked(pf, f"give it {rule.count} VFs"):
                why, is_done = self._do(pf, rule), True
        except (PluginError, HardwareError) as error:
            why, is_done = str(error), False
        if why and self._told.get(pf) != why:
            text = f"NIC {pf} does not have the {rule.count} VFs that are asked for: {why}"
            _log.warning("%s", text)
            warn(EVENT, text)
        self._told[pf] = why
        return is_done

    def _do(self, pf: Bdf, rule: VfRule) -> str:
        """Do what is due and return why the rule is not met then, empty where it is."""
        supply = self._supply()
        due = self._judged(supply, pf, rule)
        if due.deed is VfDeed.NOTHING:
            return due.why
        if due.deed in (VfDeed.REMOVE, VfDeed.REPLACE):
            supply.remove(pf)
        if due.deed in (VfDeed.MAKE, VfDeed.REPLACE):
            supply.make(pf, rule.count)
        return self._judged(supply, pf, rule).why

    def _judged(self, supply: VfSupply, pf: Bdf, rule: VfRule) -> VfJudgement:
        return judge(rule, VfState(supply.present(pf), supply.made(pf), supply.is_held(pf)))

    def _supply(self) -> VfSupply:
        boot_id = self.machine.boot.boot_id()
        return VfSupply(self.machine.nics, self.made, boot_id, partial(held_hardware, self.store, boot_id))

    def _locked(self, pf: Bdf, purpose: str) -> AbstractContextManager[None]:
        target = LockTarget("NIC", pf)
        return self.locks.hold(target.name, str(target), purpose)
