"""gRPC to values and back, for both versions of the kubelet's contract. Nothing is decided here."""

from __future__ import annotations

import grpc

from plugin._pb.dra_v1 import api_pb2 as v1
from plugin._pb.dra_v1 import api_pb2_grpc as v1_grpc
from plugin._pb.dra_v1beta1 import api_pb2 as v1beta1
from plugin._pb.dra_v1beta1 import api_pb2_grpc as v1beta1_grpc
from plugin.kubelet.dra_service import Service


class DraV1(v1_grpc.DRAPluginServicer):
    """``k8s.io.kubelet.pkg.apis.dra.v1``."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def NodePrepareResources(  # noqa: D102, N802 - the wire's name
        self, request: v1.NodePrepareResourcesRequest, context: grpc.ServicerContext
    ) -> v1.NodePrepareResourcesResponse:
        response = v1.NodePrepareResourcesResponse()
        for uid, outcome in self._service.prepare(request.claims, context).items():
            entry = response.claims[uid]
            entry.error = outcome.error
            for device in outcome.devices:
                entry.devices.add(
                    request_names=device.requests,
                    pool_name=device.pool,
                    device_name=device.device,
                    cdi_device_ids=device.cdi_ids,
                    share_id=device.share_id,
                )
        return response

    def NodeUnprepareResources(  # noqa: D102, N802 - the wire's name
        self, request: v1.NodeUnprepareResourcesRequest, context: grpc.ServicerContext
    ) -> v1.NodeUnprepareResourcesResponse:
        response = v1.NodeUnprepareResourcesResponse()
        for uid, outcome in self._service.unprepare(request.claims, context).items():
            response.claims[uid].error = outcome.error
        return response


class DraV1Beta1(v1beta1_grpc.DRAPluginServicer):
    """``k8s.io.kubelet.pkg.apis.dra.v1beta1``: the same bytes on the wire, but for what v1 added."""

    def __init__(self, newer: DraV1) -> None:
        self._newer = newer

    def NodePrepareResources(  # noqa: D102, N802 - the wire's name
        self, request: v1beta1.NodePrepareResourcesRequest, context: grpc.ServicerContext
    ) -> v1beta1.NodePrepareResourcesResponse:
        asked = v1.NodePrepareResourcesRequest.FromString(request.SerializeToString())
        answered = self._newer.NodePrepareResources(asked, context)
        return v1beta1.NodePrepareResourcesResponse.FromString(answered.SerializeToString())

    def NodeUnprepareResources(  # noqa: D102, N802 - the wire's name
        self, request: v1beta1.NodeUnprepareResourcesRequest, context: grpc.ServicerContext
    ) -> v1beta1.NodeUnprepareResourcesResponse:
        asked = v1.NodeUnprepareResourcesRequest.FromString(request.SerializeToString())
        answered = self._newer.NodeUnprepareResources(asked, context)
        return v1beta1.NodeUnprepareResourcesResponse.FromString(answered.SerializeToString())
