"""One claim on this node: what is planned, what is recorded, and the steps from one state to the next."""
