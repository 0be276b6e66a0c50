"""Writes a machine into a node file."""
