"""``tangram plugin clean``: what is on a node, whose it is, whether it is in use, and its removal."""
