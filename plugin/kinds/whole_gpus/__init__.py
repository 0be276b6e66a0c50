"""Kinds of devices that are GPUs as a whole: one, several that links join, one that claims share."""
