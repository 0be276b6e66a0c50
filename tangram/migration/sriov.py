"""The option ``--sriov``: which class stands for a resource of the SR-IOV device plugin."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
from typing import Final

from scheduler_core.base.errors import SelectorError, shown
from scheduler_core.frontends.migration.values import Asked
from scheduler_core.model.names import is_driver
from scheduler_core.rules.selectors import compile_selector
from tangram.errors import BadInput

_RESOURCE: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_RULE: Final = "must be RESOURCE=CLASS or RESOURCE=CLASS,SELECTOR, such as openshift.io/rdma=vf.tangram.dev"
_LONGEST: Final = 50  # leaves room for a number in a DNS label
NetworkResource = tuple[str, Asked]


def network_resource(text: str) -> NetworkResource:
    """Read one value of the option. Raises: ArgumentTypeError."""
    resource, _, asked_for = text.partition("=")
    class_name, _, expression = asked_for.partition(",")
    if not _RESOURCE.fullmatch(resource) or not is_driver(class_name):
        raise ArgumentTypeError(f"{shown(text)}: {_RULE}")
    try:
        if expression:
            compile_selector(expression)
    except SelectorError as error:
        raise ArgumentTypeError(f"{shown(text)}: {error}") from None
    return resource, Asked(_request_name(resource), class_name, expression)


def _request_name(resource: str) -> str:
    """Return a DNS label for a resource: ``rdma-vf`` for ``openshift.io/rdma_vf``."""
    name = re.sub("[^a-z0-9]+", "-", resource.partition("/")[2].lower())
    return name[:_LONGEST].strip("-")


def asked(given: Sequence[NetworkResource]) -> Mapping[str, Asked]:
    """Return what stands for each resource. Raises: BadInput for one that is given twice."""
    found: dict[str, Asked] = {}
    for resource, one in given:
        if resource in found:
            raise BadInput(f"--sriov: {resource} is given twice")
        found[resource] = one
    return found
