"""The names by which agent, webhook and controller agree who allocates what.

Source: docs/decisions/0056-controller.md.
"""

from typing import Final

OWNER: Final = "tangram.dev/allocator"
"""Label of a Node, and key of the taint on the devices of such a node. Its value says who allocates there."""
CONTROLLER: Final = "controller"
"""The value of ``OWNER`` for nodes whose devices only the controller allocates."""
TAINT_EFFECT: Final = "NoSchedule"
GATE: Final = "tangram.dev/allocate"
"""Scheduling gate of a pod that waits for the controller, which removes this gate and no other."""
AMOUNTS: Final = "tangram.dev/amounts"
"""Annotation of a pod: the amounts that the webhook took out of its containers.

A JSON object of name and quantity, summed as Kubernetes sums them. The controller reads them together with
Koordinator's annotations.
"""
CLAIM: Final = "tangram.dev/claim"
"""Annotation of a pod: the name of the claim that the controller makes for its amounts."""
TEMPLATES: Final = "tangram.dev/claim-templates"
"""Annotation of a pod: the templates from which the controller makes claims.

A JSON object of claim name and template name. The webhook put the claim's name in place of the template's.
"""
CONDITION: Final = "tangram.dev/DevicesAllocated"
"""Condition of a pod that waits for devices: False, with the reason."""
EXCLUSIVE: Final = "tangram.dev/exclusive"
"""Annotation of a claim that the controller made for a pod's amounts: the pod's exclusive policies.

A JSON object of device type and policy, such as ``{"rdma": "PCIeLevel"}``. It keeps other claims out of the
scopes of the claim's devices for as long as the claim is allocated.
"""
MULTI_NODE: Final = "multi-node/"
"""Begins the names of pools that no node owns. A node's name has no slash, so no node's pool is called so."""
POOL_LABEL: Final = "tangram.dev/multi-node-pool"
"""Label of the slices of such a pool. Its value is the name of the MultiNodePool."""
MEMBERS: Final = "tangram.dev/members"
"""Annotation of a slice of such a pool: the GPUs that its devices consist of.

A JSON object of device, node and the minors of GPUs there, ``{"pair": {"node-1": [0], "node-2": [0]}}``. The
agents of these nodes withhold the GPUs, and the plugins prepare them.
"""
NOBODY: Final = "nobody"
"""The value of the taint ``OWNER`` on devices that nobody may allocate now."""
