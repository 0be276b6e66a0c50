"""Claims of kube-scheduler's own making: what they ask for is drawn. Pure.

In go what was drawn; out come claims for partitions, GPUs, VFs and shares, each with its pod.
"""

from __future__ import annotations

import random
from typing import Final

from chaos.documents import Document, Drawn, Objects, request, with_claim

SHARE_CLASS: Final = "gpu-shared.chaos"
_MOST_REQUESTS: Final = 3
_SHARES_GIB: Final = (4, 10, 20)
_PROFILES: Final = ("1g.5gb", "2g.10gb", "3g.20gb")


def device_classes() -> tuple[Document, ...]:
    """Return the device classes that these claims need beside those of Tangram."""
    expression = 'device.driver == "tangram.dev" && device.attributes["tangram.dev"].type == "gpu-shared"'
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return ({"metadata": {"name": SHARE_CLASS}, "spec": spec},)


def mixed(drawn: Drawn) -> Objects:
    """Return a claim for some devices of any kind that a pod has for itself, one whole GPU at most."""
    chance = random.Random(drawn.pick)
    wanted: list[Document] = []
    for number in range(chance.randint(1, _MOST_REQUESTS)):
        name = f"r{number}"
        choices = [
            request(name, "mig.tangram.dev", f'own.profile == "{chance.choice(_PROFILES)}"'),
            request(name, "vf.tangram.dev"),
            request(name, "vfio.tangram.dev"),
        ]
        if not any(one["exactly"]["deviceClassName"] == "gpu.tangram.dev" for one in wanted):
            choices.append(request(name, "gpu.tangram.dev"))
        wanted.append(chance.choice(choices))
    return with_claim(drawn, {"devices": {"requests": wanted}}, is_gated=drawn.is_gated)


def vfio(drawn: Drawn) -> Objects:
    """Return a claim for a VF whose driver is changed for it."""
    spec = {"devices": {"requests": [request("vf", "vfio.tangram.dev")]}}
    return with_claim(drawn, spec, is_gated=drawn.is_gated)


def share(drawn: Drawn) -> Objects:
    """Return a claim for a share of a GPU."""
    amount = random.Random(drawn.pick).choice(_SHARES_GIB)
    wanted = request("share", SHARE_CLASS, capacity={"requests": {"memory": f"{amount}Gi"}})
    return with_claim(drawn, {"devices": {"requests": [wanted]}}, is_gated=drawn.is_gated)
