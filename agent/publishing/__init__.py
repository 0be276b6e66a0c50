"""Telling the cluster what is on this node, and keeping it told."""
