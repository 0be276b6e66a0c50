"""The settings in effect as the agent publishes by them: the plugin decides them and writes them down.

So both name the same devices, and a device that a claim has is published as it was until the claim ends.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from agent.hardware.errors import HardwareError
from agent.inventory.model import Inventory
from agent.inventory.numbers.shared_file import NotKept
from agent.inventory.options.settings import Settings
from agent.policy.applied import settings_on
from agent.policy.effect_file import Damaged, EffectFile, Stored

_LOOK_S: Final = 2.0
_log = logging.getLogger(__name__)


class PolicyNotInEffect(HardwareError):
    """Nobody can say yet what the policy of the node means for its devices."""

    retry = True
    remedy = "it is retried; if it persists, see the log of the plugin of this node"


class FollowedPolicy:
    """What is in effect of a node's policy. For one thread. Shape: ``options`` count where it says nothing.

    ``hear`` is called with what the file says, each time that it says something else.
    """

    def __init__(
        self, file: EffectFile, options: Settings, hear: Callable[[Stored], None] = lambda _: None
    ) -> None:
        self._file = file
        self._options = options
        self._hear = hear
        self._stamp: object = None
        self._last: Stored | None = None

    def settings(self, node: Inventory) -> Settings:
        """Return the settings of a node as it was read. Raises: PolicyNotInEffect."""
        return settings_on(self._options, self._stored().effect.settings, node)

    def _stored(self) -> Stored:
        stamp = self._file.stamp()
        if self._last is not None and stamp == self._stamp:
            return self._last
        attempted, subject = "read what is in effect of the policy", f"node {self._file.node}"
        try:
            found = self._file.read()
        except (Damaged, NotKept) as error:
            if self._last is None:
                raise PolicyNotInEffect(attempted, subject, str(error)) from error
            _log.error("%s of %s: %s; what was in effect stays", attempted, subject, error)
            found = self._last
        if found is None:
            reason = "the plugin of the node has not written it yet"
            raise PolicyNotInEffect(attempted, subject, reason)
        if found != self._last:
            self._hear(found)
        self._stamp, self._last = stamp, found
        return found


class PolicyEvents:
    """Reports when other settings are in effect, as the machine's own events do.

    Shape: ``wait`` waits for an event, as ``Event.wait`` does.
    """

    def __init__(
        self, file: EffectFile, wait: Callable[[threading.Event, float], bool] = threading.Event.wait
    ) -> None:
        self._file = file
        self._wait = wait

    def listen(self, hear: Callable[[str], None], stop: threading.Event) -> None:
        """Call ``hear`` once, then for every change until ``stop`` is set."""
        last = self._file.stamp()
        hear("the policy is followed")
        while not self._wait(stop, _LOOK_S):
            present = self._file.stamp()
            if present != last:
                last = present
                hear("other settings of the policy are in effect")
