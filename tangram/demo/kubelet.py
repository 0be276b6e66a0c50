"""A kubelet for the demo: calls a plugin over unix sockets and keeps every call for the picture.

Source: the kubelet's plugin registration and DRA services, v1 (proto/).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Final, TypeVar

import grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from plugin._pb.dra_v1 import api_pb2 as dra
from plugin._pb.dra_v1.api_pb2_grpc import DRAPluginStub
from plugin._pb.pluginregistration_v1 import api_pb2 as registration
from plugin._pb.pluginregistration_v1.api_pb2_grpc import RegistrationStub
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import AllocatedClaim
from tangram.errors import NoAnswer

TIMEOUT_SECONDS: Final = 45.0  # as long as a kubelet waits
_REGISTRATION: Final = "/pluginregistration.Registration/"
_DRA: Final = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"
_Request = TypeVar("_Request", bound=Message)
_Response = TypeVar("_Response", bound=Message)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One call. Shape: ``request`` and ``response`` by the field names of the protos."""

    method: str
    request: dict[str, Any]
    response: dict[str, Any]


@dataclass(slots=True)
class Kubelet:
    """A client of one plugin. Shape: ``exchanges`` in the order of the calls."""

    exchanges: list[Exchange] = field(default_factory=list)

    def register(self, socket: Path) -> Path:
        """Ask the plugin for its registration, confirm it, and return its DRA socket."""
        with grpc.insecure_channel(f"unix:{socket}") as channel:
            stub = RegistrationStub(channel)
            info = self._call(_REGISTRATION + "GetInfo", stub.GetInfo, registration.InfoRequest())
            self._call(
                _REGISTRATION + "NotifyRegistrationStatus",
                stub.NotifyRegistrationStatus,
                registration.RegistrationStatus(plugin_registered=True),
            )
        return Path(info.endpoint)

    def prepare(self, socket: Path, claims: Sequence[AllocatedClaim]) -> dra.NodePrepareResourcesResponse:
        """Ask for the devices of the claims."""
        request = dra.NodePrepareResourcesRequest(claims=[_named(claim) for claim in claims])
        with grpc.insecure_channel(f"unix:{socket}") as channel:
            stub = DRAPluginStub(channel)
            return self._call(_DRA + "NodePrepareResources", stub.NodePrepareResources, request)

    def unprepare(self, socket: Path, claims: Sequence[AllocatedClaim]) -> dra.NodeUnprepareResourcesResponse:
        """Ask to undo what was prepared for the claims."""
        request = dra.NodeUnprepareResourcesRequest(claims=[_named(claim) for claim in claims])
        with grpc.insecure_channel(f"unix:{socket}") as channel:
            stub = DRAPluginStub(channel)
            return self._call(_DRA + "NodeUnprepareResources", stub.NodeUnprepareResources, request)

    def _call(self, method: str, call: Callable[..., _Response], request: _Request) -> _Response:
        try:
            response = call(request, timeout=TIMEOUT_SECONDS, wait_for_ready=True)
        except grpc.RpcError as error:
            raise NoAnswer(method, str(error)) from error
        self.exchanges.append(Exchange(method, _fields(request), _fields(response)))
        return response


def _named(claim: AllocatedClaim) -> dra.Claim:
    return dra.Claim(namespace=claim.ref.namespace, uid=claim.uid or "", name=claim.ref.name)


def _fields(message: Message) -> dict[str, Any]:
    found: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
    return found
