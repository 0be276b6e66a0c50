"""The DeviceClasses of a driver, as API objects."""

from __future__ import annotations

from typing import Any, Final

_KINDS: Final = ("gpu", "mig", "nic", "vf")


def class_name(kind: str, driver: str) -> str:
    """Return a kind's class: ``mig.tangram.dev``; for driver ``gpu.nvidia.com`` it is ``mig.nvidia.com``."""
    return f"{kind}.{driver.removeprefix('gpu.')}"


def device_classes(driver: str) -> tuple[dict[str, Any], ...]:
    """Return one DeviceClass for every kind of device that the driver publishes."""
    return tuple(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": class_name(kind, driver)},
            "spec": {"selectors": [{"cel": {"expression": _selector(kind, driver)}}]},
        }
        for kind in _KINDS
    )


def _selector(kind: str, driver: str) -> str:
    return f'device.driver == "{driver}" && device.attributes["{driver}"].type == "{kind}"'
