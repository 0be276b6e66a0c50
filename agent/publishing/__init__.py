"""Publishes the devices of this node as slices, and keeps the slices up to date."""
