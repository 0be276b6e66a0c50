"""What-if questions about a cluster: how much more fits, what a workload needs, what to end for it."""
