"""A node that is looked at. What is mended is done by the plugin's own command, under its locks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import field
from typing import Any

from agent.hardware.ports import Machine
from plugin.options import Options
from plugin.release import run_release
from scheduler_core.base.quick_dataclass import dataclass
from tangram.clusters import ClusterReader
from tangram.doctor.finding import Finding, Release
from tangram.doctor.node.collect_claims import collect_claims, collect_server
from tangram.doctor.node.collect_machine import collect_machine
from tangram.doctor.node.collect_serving import collect_serving
from tangram.doctor.node.facts import NodeFacts
from tangram.doctor.node.findings import node_findings


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePatient:
    """A node. Shape: ``cluster`` None where no API server is asked. Units: ``clock`` seconds since 1970."""

    machine: Machine
    options: Options
    clock: Callable[[], float]
    cluster: ClusterReader | None = field(default=None)

    @property
    def name(self) -> str:
        """Return how a person calls it."""
        return f"driver {self.options.driver_name} on node {self.options.node_name}"

    @property
    def scope(self) -> Mapping[str, Any]:
        """Return what was looked at, for scripts."""
        return {"scope": "node", "node": self.options.node_name, "driver": self.options.driver_name}

    def look(self) -> tuple[Finding, ...]:
        """Look once. Raises: PluginError, HardwareError; BadInput."""
        return node_findings(self.facts())

    def facts(self) -> NodeFacts:
        """Read everything. Raises: PluginError, HardwareError; BadInput."""
        machine = collect_machine(self.machine, self.options)
        claims = collect_claims(self.options)
        server = None
        if self.cluster is not None:
            server = collect_server(self.cluster, self.options, claims, machine.boot_id, self.machine)
        return NodeFacts(
            node=self.options.node_name,
            now_s=self.clock(),
            claims=claims,
            machine=machine,
            serving=collect_serving(self.options, claims),
            server=server,
        )

    def mend(self, finding: Finding) -> str:
        """Do the fix. Raises: PluginError, HardwareError."""
        assert isinstance(finding.fix, Release), "no other finding on a node has a fix"
        said: list[str] = []
        run_release(
            finding.fix.uid, self.options, lambda: nullcontext(self.machine), said.append, as_json=False
        )
        return "".join(said).strip()
