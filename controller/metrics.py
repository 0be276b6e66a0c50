"""The metrics of the controller: their names, kinds and help texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from daemon.metrics.definition import BUILD_INFO, Definition
from daemon.metrics.registry import Registry, set_build_info

PREFIX: Final = "tangram_controller_"
DEFINITIONS: Final[Mapping[str, Definition]] = {
    "build_info": BUILD_INFO,
    "server_unsupported": Definition(
        "gauge", "1 while the API server is too old: it does not serve resource.k8s.io/v1; else 0."
    ),
    "waiting_pods": Definition("gauge", "Pods that wait for devices, by why.", ("why",)),
    "pods_in_flight": Definition("gauge", "Pods whose allocation is being written."),
    "owned_nodes": Definition("gauge", "Nodes whose devices the controller allocates."),
    "untainted_nodes": Definition(
        "gauge", "Nodes whose label names the controller, and whose devices lack its taint."
    ),
    "held_back_nodes": Definition("gauge", "Nodes that are held back for pods that wait long."),
    "unreadable_slices": Definition("gauge", "Slices that cannot be read."),
    "doubly_held_devices": Definition("gauge", "Devices that several claims hold by somebody's mistake."),
    "leader": Definition("gauge", "Whether this replica decides: 1 if so, else 0."),
    "decisions_total": Definition(
        "counter", "Decisions about pods, by result and solver.", ("result", "solver")
    ),
    "decision_seconds_total": Definition("counter", "Time that decisions took, by result.", ("result",)),
    "waited_seconds_total": Definition("counter", "Time that pods waited for their devices."),
    "writes_total": Definition(
        "counter", "Series of writes that ended, by kind and result.", ("kind", "result")
    ),
    "write_seconds_total": Definition("counter", "Time that series of writes took, by kind.", ("kind",)),
    "deallocations_total": Definition("counter", "Allocations that kube-scheduler took away."),
    "unforeseen_failures_total": Definition(
        "counter", "Errors that nobody expected, by where; please report them.", ("of",)
    ),
    "reviews_total": Definition("counter", "Reviews of pods by the webhook, by HTTP status.", ("status",)),
    "review_seconds_total": Definition("counter", "Time that reviews took."),
    "watch_interruptions_total": Definition("counter", "Watches that broke, by kind.", ("kind",)),
    "watch_last_event_timestamp_seconds": Definition(
        "gauge", "When each watch was last heard, by kind.", ("kind",)
    ),
}


class Metrics(Registry):
    """The controller's counters and gauges."""

    def __init__(self) -> None:
        super().__init__(PREFIX, DEFINITIONS)
        set_build_info(self)
