"""PURE: all that is stuck on a node, in the order in which a person should read it."""

from __future__ import annotations

from tangram.doctor.finding import Finding
from tangram.doctor.node.claims import claim_findings
from tangram.doctor.node.facts import NodeFacts
from tangram.doctor.node.machine import machine_findings
from tangram.doctor.node.serving import serving_findings


def node_findings(facts: NodeFacts) -> tuple[Finding, ...]:
    """Return the findings: the plugin, the machine, claims."""
    return (*serving_findings(facts), *machine_findings(facts), *claim_findings(facts))
