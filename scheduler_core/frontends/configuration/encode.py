"""Writes configurations as a claim or a class has them. What is None is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduler_core.frontends.configuration.sharing import MPS, TIME_SLICING
from scheduler_core.frontends.configuration.values import (
    API_VERSION,
    Config,
    GpuConfig,
    MigConfig,
    Mps,
    Netdev,
    NicConfig,
    TimeSlicing,
    VfConfig,
    Vlan,
)


def encode_config(config: Config) -> dict[str, Any]:
    """Return the parameters that ``decode_config`` reads as ``config``."""
    head = {"apiVersion": API_VERSION, "kind": type(config).__name__}
    match config:
        case GpuConfig(sharing=sharing) | MigConfig(sharing=sharing):
            return head | _given({"sharing": _sharing(sharing)})
        case VfConfig():
            return head | _vf(config)
        case NicConfig(netdev=netdev):
            return head | _netdev(netdev)


def _sharing(sharing: TimeSlicing | Mps | None) -> dict[str, Any] | None:
    match sharing:
        case None:
            return None
        case TimeSlicing(interval=interval):
            chosen = None if interval is None else {"interval": interval.value}
            return {"strategy": TIME_SLICING} | _given({"timeSlicingConfig": chosen})
        case Mps():
            limits = {device: str(amount) for device, amount in sharing.pinned_memory_limits.items()}
            memory = sharing.pinned_memory_limit
            found = {
                "defaultActiveThreadPercentage": sharing.active_thread_percentage,
                "defaultPinnedDeviceMemoryLimit": None if memory is None else str(memory),
                "defaultPerDevicePinnedMemoryLimit": limits or None,
            }
            return {"strategy": MPS} | _given({"mpsConfig": _given(found) or None})


def _vf(config: VfConfig) -> dict[str, Any]:
    management = config.management_devices
    return _given(
        {
            "mode": config.mode and config.mode.value,
            "mac": config.mac,
            "guid": config.guid,
            "vlan": _vlan(config.vlan),
            "minTxRate": config.min_tx_rate_mbps,
            "maxTxRate": config.max_tx_rate_mbps,
            "spoofCheck": config.spoof_check,
            "trust": config.trust,
            "linkState": config.link_state and config.link_state.value,
            "netdev": None if config.netdev is None else _netdev(config.netdev),
            "rdma": None if management is None else {"managementDevices": management},
        }
    )


def _vlan(vlan: Vlan | None) -> dict[str, Any] | None:
    if vlan is None:
        return None
    return _given({"id": vlan.id, "qos": vlan.qos, "protocol": vlan.protocol and vlan.protocol.value})


def _netdev(netdev: Netdev) -> dict[str, Any]:
    routes = [_given({"destination": route.destination, "gateway": route.gateway}) for route in netdev.routes]
    return _given(
        {
            "name": netdev.name,
            "mtu": netdev.mtu,
            "addresses": list(netdev.addresses) or None,
            "routes": routes or None,
        }
    )


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
