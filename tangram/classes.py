"""The DeviceClasses of a driver, as API objects.

A class selects what a claim without more words can have: a VF or NIC that works for RDMA, which is the mode
where none is said; a VF for VFIO, or as a network interface, with the configuration that says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.frontends.configuration.values import API_VERSION, VfMode

_KINDS: Final[Mapping[str, tuple[str, str | None]]] = {
    "gpu": ("gpu", None),
    "mig": ("mig", None),
    "compute-instance": ("compute-instance", None),
    "gpu-partition": ("gpu-partition", None),
    "gpu-shared": ("gpu-shared", None),
    "gpu-mps": ("gpu-mps", None),
    "imex-channel": ("imex-channel", None),
    "nic": ("nic", "rdmaCapable"),
    "vf": ("vf", "rdmaCapable"),
    "vfio": ("vf", "vfioCapable"),
    "netdev": ("vf", "netdevCapable"),
}
"""By the first part of a class's name: the type of its devices, and what must be true of them."""

_MODES: Final = {"vfio": VfMode.VFIO, "netdev": VfMode.NETDEV}


def class_name(kind: str, driver: str) -> str:
    """Return a kind's class: ``mig.tangram.dev``; for driver ``gpu.nvidia.com`` it is ``mig.nvidia.com``."""
    return f"{kind}.{driver.removeprefix('gpu.')}"


def device_classes(driver: str) -> tuple[dict[str, Any], ...]:
    """Return one DeviceClass for every kind of device, and mode of VFs, that claims usually ask for."""
    return tuple(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": class_name(kind, driver)},
            "spec": {
                "selectors": [{"cel": {"expression": _selector(kind, driver)}}],
                **_config(kind, driver),
            },
        }
        for kind in _KINDS
    )


def _selector(kind: str, driver: str) -> str:
    device_type, capable = _KINDS[kind]
    own = f'device.attributes["{driver}"]'
    found = f'device.driver == "{driver}" && {own}.type == "{device_type}"'
    return f"{found} && {own}.{capable}" if capable else found


def _config(kind: str, driver: str) -> dict[str, Any]:
    if kind not in _MODES:
        return {}
    parameters = {"apiVersion": API_VERSION, "kind": "VfConfig", "mode": str(_MODES[kind])}
    return {"config": [{"opaque": {"driver": driver, "parameters": parameters}}]}
