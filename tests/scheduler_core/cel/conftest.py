"""Devices for selectors, read from the JSON form of resource.k8s.io/v1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.quantity import Quantity
from scheduler_core.base.version import Version
from scheduler_core.cel.values import Domains
from scheduler_core.rules.selectors import DeviceView, Selector, compile_selector

GPU: Mapping[str, Any] = {
    "driver": "gpu.example.com",
    "attributes": {
        "type": {"string": "mig"},
        "profile": {"string": "1g.5gb"},
        "productName": {"string": "ACME H100 80GB"},
        "architecture": {"string": "Hopper"},
        "index": {"int": 3},
        "driverVersion": {"version": "560.35.3"},
        "cudaDriverVersion": {"version": "12.6.0"},
        "healthy": {"bool": True},
        "resource.kubernetes.io/pcieRoot": {"string": "pci0000:01"},
        "resource.kubernetes.io/numaNode": {"int": 0},
        "other.example.com/names": {"strings": ["fish", "bird"]},
    },
    "capacity": {
        "memory": {"value": "10Gi"},
        "multiprocessors": {"value": "14"},
        "copy-engines": {"value": "1"},
    },
}


def _value(attribute: Mapping[str, Any]) -> Any:
    ((kind, value),) = attribute.items()
    match kind:
        case "version":
            return Version.parse(value)
        case "versions":
            return list(map(Version.parse, value))
        case _:
            return value


def _domains(entries: Mapping[str, Any], driver: str, read: Callable[[Any], Any]) -> Domains:
    domains = Domains()
    for name, value in entries.items():
        domain, _, identifier = name.rpartition("/")
        domains.setdefault(domain or driver, {})[identifier] = read(value)
    return domains


def device_view(device: Mapping[str, Any]) -> DeviceView:
    """Return the view of a device in JSON."""
    driver = device["driver"]
    return DeviceView(
        driver=driver,
        attributes=_domains(device.get("attributes", {}), driver, _value),
        capacity=_domains(device.get("capacity", {}), driver, lambda item: Quantity.parse(item["value"])),
        allow_multiple_allocations=bool(device.get("allowMultipleAllocations")),
        name=device.get("name", "dev-0"),
    )


def outcome_of(expression: str, view: DeviceView) -> bool | str:
    """Return whether a device matches, or the kind of error."""
    try:
        selector = Selector(expression)
    except SelectorError:
        return "compileError"
    try:
        return selector.matches(view)
    except SelectorError:
        return "runtimeError"


@pytest.fixture
def read_device() -> Callable[[Mapping[str, Any]], DeviceView]:
    return device_view


@pytest.fixture
def outcome() -> Callable[[str, DeviceView], bool | str]:
    return outcome_of


@pytest.fixture
def compile_error() -> Callable[[str], str]:
    """Return a function that gives the reason why an expression does not compile."""

    def reason(expression: str) -> str:
        with pytest.raises(SelectorError) as caught:
            compile_selector(expression)
        assert caught.value.device is None
        return caught.value.reason

    return reason


@pytest.fixture(scope="session")
def gpu() -> DeviceView:
    return device_view(GPU)
