"""A claim on this node: what is wanted, what is recorded, and the steps from one state to the next."""
