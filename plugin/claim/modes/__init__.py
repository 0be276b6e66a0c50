"""The modes of GPUs that stay on, and the node's policy: what of it is in effect, and putting it there."""
