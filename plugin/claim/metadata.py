"""PURE: a claim's record to what its containers are told of each request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agent.inventory.topology import PCI_BUS_ID
from plugin.cdi.metadata import Attribute, DeviceFacts, RequestFacts, RequestFile, device_id
from plugin.claim.record import Record
from plugin.kinds.claimed import Claimed

_TYPES: Final[Mapping[type, str]] = {bool: "bool", int: "int", str: "string"}


def request_files(record: Record) -> tuple[RequestFile, ...]:
    """Return what is told of each request of a claim that is set up, in the order of its first device."""
    devices: dict[str, list[Claimed]] = {}
    names: dict[str, str] = {}
    for device in record.devices:
        for request, name in zip(device.requests, device.request_names, strict=True):
            devices.setdefault(request, []).append(device)
            names.setdefault(request, name)
    return tuple(
        RequestFile(
            request=request,
            facts=RequestFacts(
                name=names[request], devices=tuple(_facts(record.driver, one) for one in found)
            ),
            pod_claim_name=record.pod_claim_name or None,
        )
        for request, found in devices.items()
    )


def metadata_ids(record: Record) -> dict[str, str]:
    """Return the CDI id of each request's file."""
    requests = dict.fromkeys(request for device in record.devices for request in device.requests)
    return {request: device_id(record.driver, record.uid, request) for request in requests}


def _facts(driver: str, device: Claimed) -> DeviceFacts:
    return DeviceFacts(
        driver=driver,
        pool=device.pool,
        name=device.device,
        attributes=_attributes(device),
        network_data=device.network_data,
    )


def _attributes(device: Claimed) -> Mapping[str, Attribute]:
    """Return a device's attributes: what its claim's status says of it, as far as attributes can say it."""
    found: dict[str, Attribute] = {}
    addresses = device.pci_addresses or ()
    if len(addresses) == 1:
        found[PCI_BUS_ID] = {"string": addresses[0]}
    elif addresses:
        found["pciBusIDs"] = {"strings": list(addresses)}
    if device.has_admin_access:
        found["adminAccess"] = {"bool": True}
    typed = ((name, _typed(value)) for name, value in device.status_data.items())
    return found | {name: value for name, value in typed if value is not None}


def _typed(value: Any) -> Attribute | None:
    """Return a value as an attribute, None for one that has parts."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return {"strings": value}
    name = _TYPES.get(type(value))
    return None if name is None else {name: value}
