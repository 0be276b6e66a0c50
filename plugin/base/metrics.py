"""The metrics of the plugin: their names, kinds and help texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from daemon.metrics import BUILD_INFO, Definition, Registry, set_build_info
from plugin.base.in_flight import CallsInFlight

PREFIX: Final = "tangram_plugin_"
DEFINITIONS: Final[Mapping[str, Definition]] = {
    "build_info": BUILD_INFO,
    "repairs_total": Definition(
        "counter", "Repairs that were made, at the start and later, by kind.", ("kind",)
    ),
    "repair_failures_total": Definition(
        "counter", "Repairs that failed and are tried again, by kind.", ("kind",)
    ),
    "looks_total": Definition("counter", "Looks at records, hardware, CDI folder and API server."),
    "claims": Definition("gauge", "Claims with a record on this node, by state.", ("state",)),
    "missing_devices": Definition("gauge", "Devices of prepared claims that are not there any more."),
    "claims_over_in_use": Definition("gauge", "Claims that are over and whose GPUs programs still use."),
    "hung_calls": Definition("gauge", "Calls into hardware that have not returned for too long."),
}


class Metrics(Registry):
    """The plugin's counters and gauges."""

    def __init__(self) -> None:
        super().__init__(PREFIX, DEFINITIONS)
        set_build_info(self)

    def text_with(self, calls: CallsInFlight) -> str:
        """Return the text for Prometheus; which calls hang is looked up now."""
        self.set("hung_calls", sum(call.is_hung for call in calls.all()))
        return self.text()
