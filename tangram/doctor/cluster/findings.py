"""PURE: all that is stuck in a cluster, in the order in which a person should read it."""

from __future__ import annotations

from tangram.doctor.cluster.claims import claim_findings
from tangram.doctor.cluster.facts import ClusterFacts
from tangram.doctor.cluster.nodes import node_findings, waiting_findings
from tangram.doctor.cluster.rules import rule_findings
from tangram.doctor.cluster.slices import slice_findings
from tangram.doctor.finding import Finding


def cluster_findings(facts: ClusterFacts) -> tuple[Finding, ...]:
    """Return the findings: what the whole cluster lacks, nodes, slices, claims, pods."""
    return (
        *rule_findings(facts),
        *node_findings(facts),
        *slice_findings(facts),
        *claim_findings(facts),
        *waiting_findings(facts),
    )
