"""GPUs that several claims share: a device beside the whole GPU and its partitions.

The device draws the memory and the multiprocessors of its GPU in full, once for all its claims. So counting
alone keeps it apart from the whole GPU, from MIG partitions and from NVLink partitions, on every API server.
Each claim consumes a share of the device's own capacity. Source of the policies: KEP-5075.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.model.device import QualifiedName
from scheduler_core.model.names import qualified
from scheduler_core.model.policy import RequestPolicy

TYPE: Final = "gpu-shared"
MEMORY: Final = "memory"
MULTIPROCESSORS: Final = "multiprocessors"
_MIB: Final = 2**20
_NOTHING: Final = RequestPolicy(default=Quantity.of(0), values=(Quantity.of(0),))
Policies = Mapping[QualifiedName, RequestPolicy]


def shared_capacity(whole: Mapping[QualifiedName, Quantity], driver: str) -> dict[QualifiedName, Quantity]:
    """Return what shares are taken from: a GPU's memory, and its multiprocessors where they are known."""
    wanted = (qualified(MEMORY, driver), qualified(MULTIPROCESSORS, driver))
    return {name: whole[name] for name in wanted if name in whole}


def share_policies(capacity: Mapping[QualifiedName, Quantity], driver: str) -> Policies:
    """Return which amounts a claim may consume of a shared GPU.

    Units: memory in whole MiB, all of it unless the claim says how much; multiprocessors one by one, none
           unless the claim says how many, since nothing but the container is told of them.
    """
    memory, processors = qualified(MEMORY, driver), qualified(MULTIPROCESSORS, driver)
    least = Quantity.bytes_of(_MIB)
    most = Quantity.bytes_of(capacity[memory].whole // _MIB * _MIB)
    found = {memory: RequestPolicy(default=most, least=least, most=most, step=least)}
    if processors in capacity:
        none, one = Quantity.of(0), Quantity.of(1)
        found[processors] = RequestPolicy(default=none, least=none, most=capacity[processors], step=one)
    return found


def only_drawn(name: QualifiedName) -> Policies:
    """Return the policy of a capacity that the device draws and no claim consumes."""
    return {name: _NOTHING}
