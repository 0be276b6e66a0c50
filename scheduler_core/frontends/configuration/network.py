"""Reads the configuration of VFs and NICs."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_interface, ip_network
from typing import Final

from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration.fields import optional_choice, optional_flag, optional_integer
from scheduler_core.frontends.configuration.network_rules import (
    IpAddress,
    IpInterface,
    IpNetwork,
    address_rule,
    destination_rule,
    gateway_rule,
    guid_rule,
    interface_name_rule,
    mac_rule,
)
from scheduler_core.frontends.configuration.values import (
    LinkState,
    Netdev,
    NetworkRoute,
    NicConfig,
    VfConfig,
    VfMode,
    Vlan,
    VlanProtocol,
)

DEFAULT_MODE: Final = VfMode.RDMA
MTU: Final = (68, 65535)
_VLAN: Final = (0, 4094)
_QOS: Final = (0, 7)
_RATE: Final = (0, 2**32 - 1)  # IFLA_VF_RATE has 32 bits
_ADDRESSES: Final = 16  # what claim.status.devices[].networkData may list
_ROUTES: Final = 32
_NETDEV: Final = ("name", "mtu", "addresses", "routes")


def read_vf_config(fields: Fields) -> VfConfig:
    """Read a VfConfig."""
    fields.only(
        *("apiVersion", "kind", "mode", "mac", "guid", "vlan", "minTxRate", "maxTxRate"),
        *("spoofCheck", "trust", "linkState", "netdev", "rdma"),
    )
    mode = optional_choice(fields, "mode", VfMode)
    _refuse_other_modes(fields, mode or DEFAULT_MODE)
    least, most = _rates(fields)
    return VfConfig(
        mode=mode,
        mac=fields.text("mac", rule=mac_rule).lower() if fields.has("mac") else None,
        guid=fields.text("guid", rule=guid_rule).lower() if fields.has("guid") else None,
        vlan=_vlan(fields.child("vlan")) if fields.has("vlan") else None,
        min_tx_rate_mbps=least,
        max_tx_rate_mbps=most,
        spoof_check=optional_flag(fields, "spoofCheck"),
        trust=optional_flag(fields, "trust"),
        link_state=optional_choice(fields, "linkState", LinkState),
        netdev=_nested_netdev(fields.child("netdev")) if fields.has("netdev") else None,
        management_devices=_rdma(fields.child("rdma")) if fields.has("rdma") else None,
    )


def read_nic_config(fields: Fields) -> NicConfig:
    """Read a NicConfig."""
    fields.only("apiVersion", "kind", *_NETDEV)
    return NicConfig(_netdev(fields))


def _refuse_other_modes(fields: Fields, mode: VfMode) -> None:
    for key, wanted in (("netdev", VfMode.NETDEV), ("rdma", VfMode.RDMA)):
        if fields.has(key) and mode is not wanted:
            raise fields.refuse(key, f"is for mode {wanted}; the mode is {mode}")


def _rates(fields: Fields) -> tuple[int | None, int | None]:
    low, high = _RATE
    least = optional_integer(fields, "minTxRate", least=low, most=high)
    most = optional_integer(fields, "maxTxRate", least=low, most=high)
    if least and most and least > most:
        raise fields.refuse("minTxRate", f"must be at most maxTxRate, which is {most} Mbit/s", least)
    return least, most


def _vlan(fields: Fields) -> Vlan:
    fields.only("id", "qos", "protocol")
    found = Vlan(
        id=fields.integer("id", least=_VLAN[0], most=_VLAN[1]),
        qos=optional_integer(fields, "qos", least=_QOS[0], most=_QOS[1]),
        protocol=optional_choice(fields, "protocol", VlanProtocol),
    )
    if found.id == 0 and found.qos:
        raise fields.refuse("qos", "needs a VLAN id from 1 to 4094", found.qos)
    return found


def _rdma(fields: Fields) -> bool | None:
    fields.only("managementDevices")
    return optional_flag(fields, "managementDevices")


def _nested_netdev(fields: Fields) -> Netdev:
    fields.only(*_NETDEV)
    return _netdev(fields)


def _netdev(fields: Fields) -> Netdev:
    interfaces = _addresses(fields)
    return Netdev(
        name=fields.text("name", rule=interface_name_rule) if fields.has("name") else None,
        mtu=optional_integer(fields, "mtu", least=MTU[0], most=MTU[1]),
        addresses=tuple(map(str, interfaces)),
        routes=_routes(fields, interfaces),
    )


def _addresses(fields: Fields) -> Sequence[IpInterface]:
    found: list[IpInterface] = []
    for index, text in enumerate(fields.texts("addresses", _ADDRESSES)):
        problem = address_rule(text)
        if problem is None and any(ip_interface(text).ip == one.ip for one in found):
            problem = "is listed twice"
        if problem is not None:
            raise fields.refuse(f"addresses[{index}]", problem, text)
        found.append(ip_interface(text))
    return found


def _routes(fields: Fields, interfaces: Sequence[IpInterface]) -> tuple[NetworkRoute, ...]:
    read = [(child, *_route(child)) for child in fields.children("routes", _ROUTES)]
    reached = [one.network for one in interfaces] + [to for _, to, gateway in read if gateway is None]
    seen: set[IpNetwork] = set()
    for child, destination, gateway in read:
        if destination in seen:
            raise child.refuse("destination", "is listed twice", str(destination))
        seen.add(destination)
        if gateway is not None and not _is_reached(gateway, reached):
            rule = (
                "is in no network of this interface's addresses, and no route without a gateway leads to it"
            )
            raise child.refuse("gateway", rule, str(gateway))
    return tuple(NetworkRoute(str(to), None if gateway is None else str(gateway)) for _, to, gateway in read)


def _route(fields: Fields) -> tuple[IpNetwork, IpAddress | None]:
    fields.only("destination", "gateway")
    destination = ip_network(fields.text("destination", rule=destination_rule))
    if not fields.has("gateway"):
        return destination, None
    gateway = ip_address(fields.text("gateway", rule=gateway_rule))
    if gateway.version != destination.version:
        rule = f"must be an IPv{destination.version} address, as the destination {destination} is"
        raise fields.refuse("gateway", rule, str(gateway))
    return destination, gateway


def _is_reached(gateway: IpAddress, networks: Sequence[IpNetwork]) -> bool:
    is_on_link = gateway.version == 6 and gateway.is_link_local  # every IPv6 interface reaches these
    return is_on_link or any(gateway in network for network in networks)
