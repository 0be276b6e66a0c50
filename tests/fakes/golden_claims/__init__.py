"""The claims of which golden records exist: one of each kind of device, and some in later states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from devices_of_kinds import EXAMPLES, SHARE_ID

from plugin.kinds.registry import KINDS

DRIVER = "tangram.dev"
UID = "u1"
FOLDER = b"/tmp/tangram-golden"
"""What stands in golden documents for the folder in which the plugin worked."""
PARTITIONS = {"2": [{"minors": [0, 1], "allocationScore": 1}]}
OPTIONS = {
    "--gpu-modes": "all=whole,mig,shared,mps",
    "--imex-channels": "2",
    "--compute-instances": "all",
}


class Later(StrEnum):
    """What comes after a claim was prepared, before its record is taken."""

    NOTHING = ""
    IN_POD = "in-pod"
    """A container's hook had its interface brought into the pod."""
    PARKED = "parked"
    """GPU 0 was lost, and the pod ended."""


LOST = "gpu-0:lost"
POD_PROCESS = 4711
"""The number of the container's process, in whose place a file stands for the pod's network namespace."""


@dataclass(frozen=True)
class GoldenClaim:
    """A claim.

    Shape: ``devices`` and ``parameters`` by request; ``options`` of the plugin that it needs; ``later`` what
           comes after it was prepared.
    """

    name: str
    node: str
    devices: Mapping[str, str]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    admin_access: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    later: Later = Later.NOTHING

    def document(self, uid: str = UID) -> Mapping[str, Any]:
        """Return the claim as the API has it."""
        results = [self._result(request, device) for request, device in self.devices.items()]
        configs = [
            {
                "source": "FromClaim",
                "requests": [request.partition("/")[0]],
                "opaque": {
                    "driver": DRIVER,
                    "parameters": {"apiVersion": "tangram.dev/v1alpha1", **own},
                },
            }
            for request, own in self.parameters.items()
        ]
        more = {"config": configs} if configs else {}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"namespace": "default", "name": f"claim-{uid}", "uid": uid},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
            "status": {"allocation": {"devices": {"results": results, **more}}},
        }

    def needs(self, known: str) -> str:
        """Return which of the options that it needs a version does not know, by its help."""
        missing = [option for option in self.needed if option not in known]
        return f"needs {', '.join(missing)}" if missing else ""

    def _result(self, request: str, device: str) -> Mapping[str, Any]:
        more = {"adminAccess": True} if self.admin_access else {}
        result = {"request": request, "driver": DRIVER, "pool": self.node, "device": device, **more}
        if not device.endswith(("-shared", "-mps")):
            return result
        consumed = {"memory": "10Gi", f"{DRIVER}/multiprocessors": "0"}
        return {**result, "shareID": SHARE_ID, "consumedCapacity": consumed}


def _of_kinds() -> Iterator[GoldenClaim]:
    """One for each kind, by the name that records have for it."""
    for kind in KINDS.preparable:
        example = EXAMPLES[type(kind)]
        parameters = {} if example.parameters is None else {"r": example.parameters}
        tag = kind.claimed.__struct_config__.tag
        yield GoldenClaim(str(tag), example.node, {"r": example.device}, parameters, options=OPTIONS)


def _in_pods() -> Iterator[GoldenClaim]:
    """Those of each kind with an interface."""
    for claim in _of_kinds():
        if claim.name.endswith("-netdev"):
            yield replace(claim, name=f"{claim.name}-{Later.IN_POD}", later=Later.IN_POD)


CLAIMS: Sequence[GoldenClaim] = (
    *_of_kinds(),
    GoldenClaim("admin-access", "a100x2", {"r": "gpu-0"}, admin_access=True),
    GoldenClaim("alternative", "a100x2", {"r/large": "gpu-0"}),
    GoldenClaim("two-devices", "a100x2", {"half": "gpu-0-mig-3g-20gb-4-7", "whole": "gpu-1"}),
    GoldenClaim(
        "vf-on-demand",
        "a30x4",
        {"r": "nic-0000-19-00-1-vf-1"},
        options={"--vfs": "0000:19:00.1=on-demand:3"},
        needed=("--vfs",),
    ),
)

LATER: Sequence[GoldenClaim] = (
    *_in_pods(),
    GoldenClaim("mig-parked", "a100x2", {"r": "gpu-0-mig-3g-20gb-4-7"}, later=Later.PARKED),
    GoldenClaim(
        "two-devices-parked",
        "a100x2",
        {"half": "gpu-0-mig-3g-20gb-4-7", "whole": "gpu-1"},
        later=Later.PARKED,
    ),
)
"""Claims whose records are taken later than when they are prepared."""
