"""Errors in the annotations and requests of pods, claims and nodes."""

from __future__ import annotations

from scheduler_core.base.errors import InvalidInput


class InvalidPod(InvalidInput):
    """A pod or claim with an annotation or request that its user must correct."""


class InvalidNode(InvalidInput):
    """A node with devices or a table of partitions that their author must correct."""
