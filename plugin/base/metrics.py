"""The metrics of the plugin: their names, kinds and help texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from agent.hardware.errors import HardwareError, nvml_code
from daemon.metrics.definition import BUILD_INFO, Definition
from daemon.metrics.registry import Registry, set_build_info
from plugin.base.errors import PluginError
from plugin.base.in_flight import CallsInFlight

PREFIX: Final = "tangram_plugin_"
_OF_PRODUCT: Final = "tangram_"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""From a claim that is prepared already to the longest that the kubelet waits, 45 s."""
DEVICE_LABELS: Final = (
    "type", "uuid", "gpu_uuid", "gpu_instance", "profile", "pci_address",
    "device", "pod", "namespace", "claim", "request",
)  # fmt: skip
DEFINITIONS: Final[Mapping[str, Definition]] = {
    "build_info": BUILD_INFO,
    "server_unsupported": Definition(
        "gauge", "1 while the API server is too old: it does not serve resource.k8s.io/v1; else 0."
    ),
    "device_info": Definition(
        "gauge",
        "1 for each device of a prepared claim and each pod that has the claim. `gpu_uuid` and "
        "`gpu_instance` are `UUID` and `GPU_I_ID` of NVIDIA's DCGM exporter.",
        DEVICE_LABELS,
        prefix=_OF_PRODUCT,
    ),
    "request_seconds": Definition(
        "histogram",
        "How long calls of the kubelet took, each for one or several claims: prepare or unprepare.",
        ("method",),
        _SECONDS,
    ),
    "step_seconds": Definition(
        "histogram",
        "How long steps of a claim took. prepare: read (the claim), plan, lock, set_up, confirm (it was "
        "prepared already); unprepare: lock, undo.",
        ("method", "step"),
        _SECONDS,
    ),
    "requests_in_flight": Definition("gauge", "Calls of the kubelet that are not answered yet.", ("method",)),
    "errors_total": Definition(
        "counter",
        "Claims that a call failed for, by class of the error; nvml is NVML's return code where that was "
        "the cause.",
        ("method", "error", "nvml"),
    ),
    "holder_wait_seconds": Definition(
        "histogram",
        "How long claims waited until another claim released their devices; the count is that of the waits.",
        buckets=(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0),
    ),
    "claims": Definition(
        "gauge",
        "Claims with a record on this node, by state; completed: prepared, quarantined: its record cannot "
        "be believed.",
        ("state",),
    ),
    "mig_instances": Definition("gauge", "MIG devices of prepared claims, by profile.", ("profile",)),
    "mig_mode_changes_total": Definition(
        "counter",
        "Changes of a GPU's MIG mode that were tried, by wish (on, off) and what the driver said: active, "
        "pending_in_use, pending_reset.",
        ("wish", "result"),
    ),
    "repairs_total": Definition(
        "counter", "Repairs that were made, at the start and later, by kind.", ("kind",)
    ),
    "repair_failures_total": Definition(
        "counter", "Repairs that failed and are tried again, by kind.", ("kind",)
    ),
    "looks_total": Definition("counter", "Looks at records, hardware, CDI folder and API server."),
    "missing_devices": Definition("gauge", "Devices of prepared claims that are not there any more."),
    "claims_over_in_use": Definition("gauge", "Claims that are over and whose GPUs programs still use."),
    "hung_calls": Definition("gauge", "Calls into hardware that have not returned for too long."),
}


class Metrics(Registry):
    """The plugin's counters, gauges and histograms."""

    def __init__(self) -> None:
        super().__init__(PREFIX, DEFINITIONS)
        set_build_info(self)

    def text_with(self, calls: CallsInFlight) -> str:
        """Return the text for Prometheus; which calls hang is looked up now."""
        self.set("hung_calls", sum(call.is_hung for call in calls.all()))
        return self.text()


def error_labels(error: PluginError) -> tuple[str, str]:
    """Return the class of an error, the hardware's where that is the cause, and NVML's code if it has one."""
    cause = error.__cause__
    kind = type(cause if isinstance(cause, HardwareError) else error).__name__
    return kind, nvml_code(str(error))
