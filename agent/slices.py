"""Devices to slices within the limits. Pure."""
