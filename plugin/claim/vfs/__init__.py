"""The number of VFs of a node's NICs: what is due, doing it, and the thread that does it."""
