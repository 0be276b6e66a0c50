"""Reads the entries of a policy: about nodes, GPUs, NICs, and their places in the topology."""
