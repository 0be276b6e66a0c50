"""VFs that Multus attaches: the two attributes by which it finds the VF of a claim, and the option for them.

Multus compares the resource name with that of a NetworkAttachmentDefinition and gives the device id, a PCI
address, to the network plugin behind it. The VF keeps its kernel driver and its interface until then, as in
mode ``rdma``. Source of the names: dra-driver-sriov, which has the same hand-off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from agent import node_options
from agent.hardware.types import Bdf
from daemon.command_line import require
from scheduler_core.base.limits import VALUE_LENGTH
from scheduler_core.model.device import AttributeValue, QualifiedName
from scheduler_core.model.names import is_driver

OPTION: Final = node_options.MULTUS_RESOURCE
RESOURCE_NAME: Final = QualifiedName("k8s.cni.cncf.io/resourceName")
DEVICE_ID: Final = QualifiedName("k8s.cni.cncf.io/deviceID")
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
RULE: Final = f"must be DOMAIN/NAME of at most {VALUE_LENGTH} characters, such as tangram.dev/vf"


def read_multus_resource(text: str | None) -> str | None:
    """Return the resource name that the option gives, None without it. Raises: InvalidOption."""
    if text is not None:
        domain, _, name = text.partition("/")
        is_name = is_driver(domain) and _NAME.fullmatch(name) is not None
        require(is_name and len(text) <= VALUE_LENGTH, OPTION, text, RULE)
    return text


def multus_attributes(resource: str | None, bdf: Bdf) -> Mapping[QualifiedName, AttributeValue]:
    """Return the attributes of a VF for Multus, none without a resource name."""
    return {} if resource is None else {RESOURCE_NAME: resource, DEVICE_ID: str(bdf)}
