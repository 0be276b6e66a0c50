"""The simulated kernel: ``AttributeFiles`` and ``NetworkKernel`` over a machine's state.

Every call reads the state again, so that several processes see the same NICs. It refuses as kernels do (the
rules in ``nics/``), with their error numbers, and as injected faults say.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from agent.hardware.nics.links import Link, Move, Step
from agent.hardware.nics.types import VfSettings
from agent.hardware.simulated.calls import Calls
from agent.hardware.simulated.faults import Call
from agent.hardware.simulated.nic_state import IN_KERNEL
from agent.hardware.simulated.nics import binding, links, settings
from agent.hardware.simulated.nics.functions import find, with_function
from agent.hardware.simulated.state import State
from agent.hardware.types import Bdf


@dataclass(frozen=True, slots=True)
class SimulatedKernel:
    """The kernel interfaces of one machine. A network namespace is a file that ends with it."""

    calls: Calls

    def write(self, attribute: str, text: str) -> None:
        """Write an attribute of sysfs. Raises: OSError."""
        node = self.calls.store.node
        with self.calls.as_it_is() as state:
            call, function = binding.call_of(node, state, attribute, text)
        number = function.nic.number
        self.calls.change_nic(call, number, lambda now: binding.written(node, now, attribute, text))

    def links(self, namespace: Path | None) -> tuple[Link, ...]:
        """Return the links of NICs in a namespace, by index. Raises: OSError."""
        key = self._entered(namespace)
        with self.calls.of_nic(Call.READ_LINKS, None) as state:
            return links.links(self.calls.store.node, state, key)

    def apply(self, namespace: Path | None, step: Step) -> None:
        """Change one link of a namespace. Raises: OSError."""
        node, key = self.calls.store.node, self._entered(namespace)
        into = self._entered(step.into) if isinstance(step, Move) else None
        with self.calls.as_it_is() as state:
            function, _ = links.named(node, state, key, step.link)
        number = function.nic.number
        self.calls.change_nic(Call.CHANGE_LINK, number, lambda now: links.changed(node, now, key, step, into))

    def vf_settings(self, pf: str) -> Mapping[int, VfSettings]:
        """Return the settings of all VFs of a PF, by index. Raises: OSError."""
        node = self.calls.store.node
        with self.calls.as_it_is() as state:
            function = settings.pf_named(node, state, pf)
        with self.calls.of_nic(Call.READ_SETTINGS, function.nic.number) as state:
            return settings.settings(state, function)

    def set_vf(self, pf: str, index: int, wanted: VfSettings) -> None:
        """Change the given settings of one VF. Raises: OSError."""
        with self.calls.as_it_is() as state:
            function = settings.pf_named(self.calls.store.node, state, pf)
        self.calls.change_nic(
            Call.SET_SETTINGS,
            function.nic.number,
            lambda now: settings.changed(now, function, index, wanted),
        )

    def count_rdma_read(self, bdf: Bdf) -> None:
        """Count a read of a function's RDMA devices: late ones come after so many. Raises: OSError."""
        node = self.calls.store.node
        function = find(node, self.calls.store.read(), bdf)
        if function is None:
            return

        def decide(state: State) -> State:
            own = function.of(state)
            if own.reads_left <= 0:
                return state
            return with_function(state, function, replace(own, reads_left=own.reads_left - 1))

        with self.calls.of_nic(Call.READ_RDMA, function.nic.number) as state:
            late = function.of(state).reads_left > 0
        if late:
            self.calls.store.change(lambda state: (decide(state), None))

    def _entered(self, namespace: Path | None) -> str | None:
        """Return what identifies a namespace; first give back the links of those that have ended."""
        store = self.calls.store
        inside = {
            (link.namespace, link.path)
            for function in store.read().functions.values()
            if (link := function.link) is not None and link.namespace not in (None, IN_KERNEL)
        }
        ended = frozenset(key for key, path in inside if key and _identity(path) != key)
        if ended:
            store.change(lambda state: (links.given_back(store.node, state, ended), None))
        if namespace is None:
            return None
        key = _identity(str(namespace))
        if key is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(namespace))
        return key


def _identity(path: str | None) -> str | None:
    try:
        found = os.stat(path or "")
    except OSError:
        return None
    return f"{found.st_dev}:{found.st_ino}"
