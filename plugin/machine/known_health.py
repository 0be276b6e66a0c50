"""What the agent knows of the health of devices, read from the file that it writes. Nothing is changed.

The agent's functions judge it, so agent and plugin never say different things.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Lock

from agent.hardware.errors import HardwareError
from agent.hardware.ports import GpuReader
from agent.hardware.types import GpuUuid, MigSpec
from agent.health.file_format import Damaged
from agent.health.findings import Findings, findings
from agent.health.rules import HealthRules
from agent.health.state import HealthState
from agent.health.state_file import StateFile
from agent.inventory.numbers.shared_file import NotKept, Stamp
from agent.inventory.published import PublishedDevice
from scheduler_core.model.device import DeviceName

_log = logging.getLogger(__name__)


class KnownHealth:
    """The health of one node. Safe between threads.

    Shape: ``file`` None where no agent writes one; ``rules`` returns those that count now.
    """

    def __init__(
        self, file: StateFile | None, gpus: GpuReader, rules: Callable[[], HealthRules] = HealthRules
    ) -> None:
        self._rules = rules
        self._file = file
        self._gpus = gpus
        self._reading = Lock()
        self._identity: Stamp = None
        self._state = HealthState()

    @property
    def rules(self) -> HealthRules:
        """Return the rules that count now."""
        return self._rules()

    def news(self) -> object:
        """Return a value that changes when the agent has written its file, or the rules of health changed."""
        return self._identity_now(), self._rules()

    def findings(self, devices: Mapping[DeviceName, PublishedDevice]) -> Findings:
        """Return what is wrong with devices."""
        state = self._read()
        return findings(state, devices, self._rules(), self._instances(state))

    def _identity_now(self) -> Stamp:
        return None if self._file is None else self._file.stamp()

    def _read(self) -> HealthState:
        """Return the state; what cannot be read stays as it was."""
        with self._reading:
            now = self._identity_now()
            if self._file is None or now == self._identity:
                return self._state
            self._identity = now
            try:
                self._state = self._file.read() or HealthState()
            except (Damaged, NotKept) as error:
                _log.warning("the health of devices is not known anew: %s: %s", self._file.path, error)
            return self._state

    def _instances(self, state: HealthState) -> Mapping[tuple[GpuUuid, int], MigSpec]:
        """Return the MIG instances of the GPUs on which something is wrong with one."""
        gpus = {GpuUuid(key.target) for key in state.troubles if key.gi_id is not None}
        found = {}
        for gpu in gpus:
            try:
                found.update({(gpu, one.gi_id): one.spec for one in self._gpus.gpu_instances(gpu)})
            except HardwareError as error:
                _log.debug("the MIG instances of %s cannot be read: %s", gpu, error)
        return found
