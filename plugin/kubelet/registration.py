"""The answers on the registration socket. The kubelet also asks as a liveness check, so they cost nothing."""

from __future__ import annotations

import logging
from typing import Final

import grpc

from plugin._pb.pluginregistration_v1 import api_pb2, api_pb2_grpc
from plugin.kubelet.paths import PluginPaths

# The kubelet takes the first entry that it knows, so the newest comes first. These are service names
# without their package, not version numbers. Source: k8s.io/kubelet, pkg/apis/dra.
SUPPORTED_VERSIONS: Final = (
    "v1.DRAPlugin",
    "v1beta1.DRAPlugin",
    "v1.DRAResourceHealth",
    "v1alpha1.DRAResourceHealth",
)
_PLUGIN_TYPE: Final = "DRAPlugin"
_log = logging.getLogger(__name__)


class RegistrationServicer(api_pb2_grpc.RegistrationServicer):
    """Answers for one driver."""

    def __init__(self, paths: PluginPaths) -> None:
        self._paths = paths

    def GetInfo(  # noqa: N802 - the wire's name
        self,
        request: api_pb2.InfoRequest,  # noqa: ARG002 - it is empty
        context: grpc.ServicerContext,  # noqa: ARG002
    ) -> api_pb2.PluginInfo:
        """Return the driver's name, its DRA socket and the services on it."""
        return api_pb2.PluginInfo(
            type=_PLUGIN_TYPE,
            name=self._paths.driver_name,
            endpoint=str(self._paths.dra_socket),
            supported_versions=SUPPORTED_VERSIONS,
        )

    def NotifyRegistrationStatus(  # noqa: N802 - the wire's name
        self, request: api_pb2.RegistrationStatus, context: grpc.ServicerContext
    ) -> api_pb2.RegistrationStatusResponse:
        """Log whether the kubelet registered the driver. After a refusal it asks again by itself."""
        if not request.plugin_registered:
            _log.error("the kubelet refused driver %s: %s", self._paths.driver_name, request.error)
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"registration refused: {request.error}")
        _log.info("the kubelet registered driver %s", self._paths.driver_name)
        return api_pb2.RegistrationStatusResponse()
