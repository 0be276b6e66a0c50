"""The metrics of the agent: their names, kinds and help texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from daemon.metrics.definition import BUILD_INFO, Definition
from daemon.metrics.registry import Registry, set_build_info

PREFIX: Final = "tangram_agent_"
_SECONDS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
DEFINITIONS: Final[Mapping[str, Definition]] = {
    "build_info": BUILD_INFO,
    "server_unsupported": Definition(
        "gauge", "1 while the API server is too old: it does not serve resource.k8s.io/v1; else 0."
    ),
    "slices": Definition("gauge", "Slices of this node that the API server holds, by kind.", ("kind",)),
    "slice_bytes": Definition("gauge", "Length of these slices as JSON, by kind.", ("kind",)),
    "slice_devices": Definition("gauge", "Devices in these slices, by kind of slice.", ("kind",)),
    "devices": Definition(
        "gauge",
        "Devices of this node by type and state: offered, tainted (in a slice, with a taint), withheld (in "
        "no slice, since they cannot be prepared).",
        ("type", "state"),
    ),
    "device_taints": Definition(
        "gauge", "Devices with a taint, by type, key and effect of the taint.", ("type", "taint", "effect")
    ),
    "gpus_expected": Definition(
        "gauge", "GPUs that PCI shows and nobody gave to VFIO, and those that the driver lists."
    ),
    "gpus_found": Definition("gauge", "GPUs that the driver lists and that could be read."),
    "left_out_devices": Definition("gauge", "Devices that could not be read or described."),
    "unreadable_devices": Definition(
        "gauge", "Devices that cannot be read now and are published as they were, with a taint."
    ),
    "refused_entries": Definition(
        "gauge", "Devices, mixins and counter sets that the API server refuses, by kind of slice.", ("kind",)
    ),
    "withheld_devices": Definition(
        "gauge",
        "Devices that are not offered because they cannot be prepared, by type and reason.",
        ("kind", "reason"),
    ),
    "unhealthy_devices": Definition(
        "gauge",
        "Devices with which something is wrong, by cause and by what follows: note, no-new-pods or evict.",
        ("cause", "severity"),
    ),
    "policy_refused": Definition(
        "gauge", "1 while the policy file is refused and an earlier policy stays in effect."
    ),
    "policy_waiting_devices": Definition(
        "gauge", "Devices on which the policy is not in effect yet, because claims have them."
    ),
    "unlisted_gpus": Definition(
        "gauge",
        "GPUs that PCI shows and the driver does not list, by reason. No claim can have them.",
        ("reason",),
    ),
    "foreign_mig_instances": Definition(
        "gauge",
        "MIG instances that no record of a claim explains, by GPU. What overlaps them has a taint.",
        ("gpu",),
    ),
    "allocator": Definition(
        "gauge", "1 for who allocates this node's devices: controller or kube-scheduler.", ("allocator",)
    ),
    "allocator_refused": Definition(
        "gauge", "1 while the Node's label names the controller and the API server drops the taints for it."
    ),
    "writes_total": Definition(
        "counter", "Writes to the API server that succeeded, by kind and verb.", ("kind", "verb")
    ),
    "errors_total": Definition(
        "counter",
        "Errors by where (discovery, device, publishing), class, and NVML's return code where that was the "
        "cause.",
        ("of", "error", "nvml"),
    ),
    "failures_total": Definition("counter", "Attempts to publish that failed, by kind.", ("kind",)),
    "foreign_slices_allowed": Definition(
        "gauge", "1 where no admission policy keeps this agent from writing slices of other nodes."
    ),
    "taken_names_total": Definition(
        "counter", "Slices that got another name because an object of somebody else has the usual one."
    ),
    "discoveries_total": Definition("counter", "Successful discoveries of this machine's devices."),
    "discovery_seconds": Definition(
        "histogram", "How long it took to read and describe the machine.", buckets=_SECONDS
    ),
    "publishing_seconds": Definition(
        "histogram", "How long series of writes to the API server took, by kind.", ("kind",), _SECONDS
    ),
    "machine_events_total": Definition("counter", "Events of the machine that were heard."),
    "node_events_total": Definition(
        "counter",
        "Events about the Node that were written for people, by type and reason.",
        ("type", "reason"),
    ),
    "discovery_failures_total": Definition("counter", "Discoveries that failed."),
    "unforeseen_failures_total": Definition(
        "counter", "Unexpected errors, by what failed; the log has the traceback.", ("of",)
    ),
    "watch_interruptions_total": Definition("counter", "Watches that broke, by kind.", ("kind",)),
    "form": Definition(
        "gauge",
        "1 for the form in which devices are published; fixed: only devices that cannot overlap.",
        ("form",),
    ),
    "dropped_field": Definition("gauge", "1 for each slice field that the API server drops.", ("field",)),
    "last_published_timestamp_seconds": Definition(
        "gauge", "When the API server last held every wanted slice, by kind.", ("kind",)
    ),
}


class Metrics(Registry):
    """The agent's counters and gauges."""

    def __init__(self) -> None:
        super().__init__(PREFIX, DEFINITIONS)
        set_build_info(self)
