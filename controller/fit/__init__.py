"""Whether a pod may run on a node, devices aside."""
