"""The node's devices: which exist, how they are set up for a claim and taken down, what containers need."""
