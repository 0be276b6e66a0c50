"""The numbers by which a node's GPUs are named: each belongs to a PCI address for good."""
