"""The node's devices: what is there, how it is set up for a claim and taken down again."""
