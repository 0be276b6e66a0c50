"""The health of the node's devices in the agent: heard, kept, judged, published as taints, told."""
