"""The agent's looks at its node: what was read becomes what is to be published.

Takes one inventory after the other; returns what each offers. Between looks it keeps what was read last, so
that an error takes nothing away at once, and the description of an unchanged node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from agent.health.facts import facts_of
from agent.health.state import Facts
from agent.inventory.describer import Describer
from agent.inventory.foreign.found import FoundForeign
from agent.inventory.foreign.overlap import Overlaps
from agent.inventory.model import Inventory, LinkedGpus
from agent.inventory.options.settings import Settings
from agent.options import Options
from agent.publishing.forms import Found
from agent.publishing.links_seen import LinksSeen
from agent.publishing.patience import Patience


def _nobody_hears(_: Facts) -> None:
    return


def _nothing_foreign(_: Inventory) -> Sequence[FoundForeign]:
    return ()


class Looks:
    """The looks of one agent. For one thread.

    Shape: ``pools`` returns which GPUs belong to which pool, ``foreign`` the MIG instances of a node that
           no claim explains; ``hear`` is told what each look says of the health of devices; ``settings``
           what the node offers, by default what the options say.
    """

    def __init__(
        self,
        options: Options,
        linked: LinkedGpus | None,
        pools: Callable[[], Mapping[int, str]],
        foreign: Callable[[Inventory], Sequence[FoundForeign]] = _nothing_foreign,
        hear: Callable[[Facts], None] = _nobody_hears,
        *,
        settings: Callable[[Inventory], Settings] | None = None,
    ) -> None:
        self._by_options = options.settings(linked)
        self._settings = settings or (lambda _: self._by_options)
        self._pools = pools
        self._foreign = foreign
        self._hear = hear
        self._overlaps = Overlaps()
        self._describer = Describer(options.driver_name)
        self._seen = LinksSeen()
        self._patience = Patience()

    def found(self, read: Inventory) -> Found:
        """Return what is to be published of a node as it was just read."""
        read = self._seen.completed(self._patience.completed(read))
        inventory = replace(self._settings(read).on(read), pools_of_gpus=self._pools())
        self._hear(facts_of(inventory))
        devices = self._describer.devices(inventory)
        return Found.of(inventory, devices, self._overlaps.of(devices, self._foreign(inventory)))
