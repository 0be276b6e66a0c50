"""Puts the policy of the node into effect, device by device: on each as soon as no claim has it.

Takes the policy file, the labels of the node, its hardware and the records of claims; writes the file that
the agent publishes by. A device is changed under its lock, so that no claim begins on it meanwhile. No
hardware changes here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Final

from agent.hardware.errors import HardwareError
from agent.inventory.model import Inventory
from agent.inventory.names import gpu_name, nic_name
from agent.inventory.numbers.shared_file import NotKept
from agent.policy.effect import Effect, Held, in_effect
from agent.policy.effect_file import Damaged, EffectFile, Stored
from agent.policy.files import BadPolicy
from agent.policy.resolution import Resolution, resolve
from agent.policy.resolved import Resolved
from agent.policy.watched import WatchedPolicy
from plugin.base.budget import Budgets
from plugin.base.errors import LockTimeout, PluginError
from plugin.claim.claim_locks import ClaimLocks
from plugin.claim.held import held_hardware
from plugin.claim.record_store import RecordStore
from plugin.machine.lock_target import GPU, LockTarget
from plugin.machine.node import Node

_log = logging.getLogger(__name__)
REFUSED: Final = "PolicyRefused"
WAITS: Final = "PolicyWaits"
_EVENTS: Final = (REFUSED, WAITS)
_NIC: Final = "NIC"
_UNKNOWN: Final = "labels"
_FAILED: Final = "failed"
Tell = Callable[[str, str], None]
"""Tells people about the node: a reason in one word, and a sentence."""
Labels = Callable[[], Mapping[str, str] | None]
"""Returns the labels of the node, None while nobody knows them."""


def no_labels() -> Mapping[str, str]:
    """Return that the node has no labels: there is no API server."""
    return {}


def untold(_reason: str, _text: str) -> None:
    """Do nothing more than what the log says."""


def unheard(_effect: Resolved | None) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class _Basis:
    """What a resolution was made from. Compared by identity, except the labels."""

    policy: object
    labels: Mapping[str, str]
    node: Inventory


@dataclass(slots=True, kw_only=True)
class PolicyCare:
    """Looks after the policy of one node. For one thread; another plugin may do so at once.

    Shape: ``labels`` and ``tell`` may be set before the first look; ``watched`` is None without a policy.
    """

    watched: WatchedPolicy | None
    file: EffectFile
    node: Node
    store: RecordStore
    boot_id: Callable[[], str]
    locks: ClaimLocks
    budgets: Budgets
    changed: Callable[[], None] = lambda: None
    labels: Labels = no_labels
    tell: Tell = untold
    hear: Callable[[Resolved | None], None] = unheard
    _basis: _Basis | None = field(default=None, init=False)
    _wanted: Resolution | None = field(default=None, init=False)
    _told: dict[str, str] = field(default_factory=dict, init=False)
    _idle: tuple[str, ...] = field(default=(), init=False)
    _settled: object = field(default=None, init=False)

    def heard_by(self, hear: Callable[[Resolved | None], None]) -> None:
        """Call a function with the settings in effect, now and after each change."""
        self.hear = hear
        hear(self.node.effect)

    def ask(self, labels: Labels, tell: Tell) -> None:
        """Ask for the labels of the node with one, tell people about the node with the other from now on."""
        self.labels, self.tell = labels, tell

    def load(self) -> None:
        """Use what an earlier run put into effect."""
        try:
            stored = self._stored()
        except NotKept as error:
            _log.error("what is in effect of the policy is not known: %s", error)
            return
        self.node.follow(None if stored is None else stored.effect.settings)

    def look_after(self) -> None:
        """Put into effect what can be now. What fails is logged once and tried at the next look."""
        if self.watched is None:
            return
        try:
            self._look(self.watched)
        except (HardwareError, PluginError, NotKept) as error:
            self._say(f"the policy is not put into effect: {error}", _FAILED, error=True)
        else:
            self._say("", _FAILED)

    def _look(self, watched: WatchedPolicy) -> None:
        watched.look()
        problem = watched.problem
        try:
            resolution = self._resolution(watched)
        except BadPolicy as error:
            resolution, problem = self._wanted, str(error)
        text = f"the policy is refused, and what was in effect stays: {problem}"
        self._say(text if problem else "", REFUSED, error=True)
        if resolution is None:
            self._note(problem)
            return
        self._put(resolution.settings, problem)

    def _resolution(self, watched: WatchedPolicy) -> Resolution | None:
        """Return what the policy means for the node, None while that is not known. Raises: BadPolicy."""
        if watched.last is None:
            return None
        labels = self.labels() if watched.last.policy.needs_labels else no_labels()
        node = self.node.snapshot.inventory
        unknown = "the policy waits for the labels of the node, which the API server has not told yet"
        self._say(unknown if labels is None else "", _UNKNOWN)
        if labels is None or node is None:
            return None
        known, basis = self._basis, _Basis(watched.last, labels, node)
        if known is not None and _is_same(known, basis):
            return self._wanted
        resolution = watched.last.placed(lambda policy: resolve(policy, labels, node))
        for sentence in resolution.idle:
            if sentence not in self._idle:
                _log.warning("policy %s: %s", watched.path, sentence)
        self._basis, self._wanted, self._idle = basis, resolution, resolution.idle
        return resolution

    def _put(self, wanted: Resolved, problem: str) -> None:
        """Put what is wanted into effect on devices that no claim has. Raises: NotKept, PluginError."""
        if self._settled == (self.file.stamp(), wanted, problem):
            return
        with self.file.locked():
            stored = self._stored()
            before = Resolved() if stored is None else stored.effect.settings
            names = dict(self._names())
            free = in_effect(before, wanted, Held(), names).settings
            with ExitStack() as locks:
                effect = in_effect(before, wanted, self._held(before, free, locks), names)
                if stored != Stored(effect, problem):
                    self.file.replace(Stored(effect, problem))
                self.node.follow(effect.settings)
        self.hear(effect.settings)
        self.node.snapshot  # noqa: B018 - read now, so that no claim has to wait for it
        self._settled = None if effect.waiting else (self.file.stamp(), wanted, problem)
        if effect.settings != before:
            _log.info("settings of the policy are in effect on node %s", self.node.name)
            self.changed()
        self._say(_waiting_text(self.node.name, effect), WAITS)

    def _held(self, before: Resolved, free: Resolved, locks: ExitStack) -> Held:
        """Lock the devices that would change and return what claims have; whoever works on one has it."""
        if before == free:
            return Held()
        is_every = before.linked != free.linked
        gpus = {one for one in sorted(free.gpus) if is_every or before.gpus.get(one) != free.gpus[one]}
        nics = {bdf for bdf in sorted(free.nics) if before.nics.get(bdf) != free.nics[bdf]}
        busy_gpus = frozenset(one for one in sorted(gpus) if not self._is_locked(GPU, one, locks))
        busy_nics = frozenset(bdf for bdf in sorted(nics) if not self._is_locked(_NIC, bdf, locks))
        held = Held.of(held_hardware(self.store, self.boot_id()))
        return replace(held, gpus=held.gpus | busy_gpus, nics=held.nics | busy_nics)

    def _is_locked(self, what: str, address: str, locks: ExitStack) -> bool:
        """Lock a device; return False where somebody works on it, so that a claim is about to have it."""
        budget = self.budgets.begin(remaining_s=0.0)
        try:
            locks.enter_context(self.locks.targets((LockTarget(what, address),), "change its policy", budget))
        except LockTimeout:
            return False
        return True

    def _note(self, problem: str) -> None:
        """Write down why the policy is not followed, beside what is in effect. Raises: NotKept."""
        with self.file.locked():
            stored = self._stored()
            if stored is not None and stored.problem != problem:
                self.file.replace(Stored(stored.effect, problem))

    def _stored(self) -> Stored | None:
        """Return what is in effect; a damaged file is set aside, nothing of it counts. Raises: NotKept."""
        try:
            return self.file.read()
        except Damaged as error:
            aside = self.file.set_aside()
            _log.error("%s is damaged and was renamed to %s: %s", self.file.path, aside, error)
            return None

    def _names(self) -> Iterator[tuple[str, str]]:
        node = self.node.snapshot.inventory
        if node is not None:
            yield from ((entry.gpu.uuid, gpu_name(entry.gpu.number)) for entry in node.gpus)
            yield from ((pf.function.bdf, nic_name(pf.function.bdf)) for pf in node.nics)

    def _say(self, text: str, about: str, *, error: bool = False) -> None:
        """Say it in the log, and as an event where people must know; not again before it changes."""
        if text == self._told.get(about, ""):
            return
        self._told[about] = text
        if not text:
            return
        _log.log(logging.ERROR if error else logging.WARNING, "%s", text)
        if about in _EVENTS:
            self.tell(about, text)


def _is_same(one: _Basis, other: _Basis) -> bool:
    return one.policy is other.policy and one.labels == other.labels and one.node is other.node


def _waiting_text(node: str, effect: Effect) -> str:
    """Return which devices keep the settings that they had, empty where none does."""
    if not effect.waiting:
        return ""
    devices = ", ".join(f"{one.device} ({one.why})" for one in effect.waiting)
    return f"the policy of node {node} is not in effect yet on {devices}"
