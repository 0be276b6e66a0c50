"""The MPS daemons of GPUs: what is known of one, and those of the node."""
