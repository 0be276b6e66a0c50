"""What can be wrong with what a pod or a node says in annotations and requests: somebody mends the object."""

from __future__ import annotations

from scheduler_core.base.errors import InvalidInput


class InvalidPod(InvalidInput):
    """A pod, or a claim, whose annotation or request its user must mend."""


class InvalidNode(InvalidInput):
    """A node's devices or table of partitions that whoever reports them must mend."""
