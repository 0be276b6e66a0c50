"""The controller: allocates the claims of pending pods on the nodes that it owns.

It reads pods, nodes, claims and slices, decides with ``scheduler_core``, and writes allocations. The decision
is pure; only ``controller.api`` talks to an API server (docs/decisions/0056-controller.md).
"""
