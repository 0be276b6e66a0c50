"""Draws who holds which devices of a cluster: ``tangram top``."""
