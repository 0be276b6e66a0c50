"""The wire form of the kubelet's contracts, pinned: whoever changes a number here breaks a kubelet."""

from __future__ import annotations

import pytest
from google.protobuf.descriptor import FieldDescriptor, FileDescriptor
from google.protobuf.json_format import MessageToDict

from plugin._pb.dra_health_v1 import api_pb2 as health_v1
from plugin._pb.dra_health_v1alpha1 import api_pb2 as health_v1alpha1
from plugin._pb.dra_v1 import api_pb2 as dra_v1
from plugin._pb.dra_v1beta1 import api_pb2 as dra_v1beta1
from plugin._pb.pluginregistration_v1 import api_pb2 as registration

FILES: dict[str, FileDescriptor] = {
    "pluginregistration": registration.DESCRIPTOR,
    "k8s.io.kubelet.pkg.apis.dra.v1": dra_v1.DESCRIPTOR,
    "k8s.io.kubelet.pkg.apis.dra.v1beta1": dra_v1beta1.DESCRIPTOR,
    "v1": health_v1.DESCRIPTOR,
    "v1alpha1": health_v1alpha1.DESCRIPTOR,
}

_REGISTRATION_METHODS = """
/pluginregistration.Registration/GetInfo InfoRequest -> PluginInfo
/pluginregistration.Registration/NotifyRegistrationStatus RegistrationStatus -> RegistrationStatusResponse
"""
_DRA_METHODS = """
/{package}.DRAPlugin/NodePrepareResources NodePrepareResourcesRequest -> NodePrepareResourcesResponse
/{package}.DRAPlugin/NodeUnprepareResources NodeUnprepareResourcesRequest -> NodeUnprepareResourcesResponse
"""
_HEALTH_METHODS = """
/{package}.DRAResourceHealth/NodeWatchResources NodeWatchResourcesRequest -> stream NodeWatchResourcesResponse
"""
METHODS = {
    "pluginregistration": _REGISTRATION_METHODS,
    "k8s.io.kubelet.pkg.apis.dra.v1": _DRA_METHODS,
    "k8s.io.kubelet.pkg.apis.dra.v1beta1": _DRA_METHODS,
    "v1": _HEALTH_METHODS,
    "v1alpha1": _HEALTH_METHODS,
}

_REGISTRATION_FIELDS = """
PluginInfo 1 type string
PluginInfo 2 name string
PluginInfo 3 endpoint string
PluginInfo 4 supported_versions repeated string
RegistrationStatus 1 plugin_registered bool
RegistrationStatus 2 error string
"""
_DRA_FIELDS = """
Claim 1 namespace string
Claim 2 uid string
Claim 3 name string
Device 1 request_names repeated string
Device 2 pool_name string
Device 3 device_name string
Device 4 cdi_device_ids repeated string
NodePrepareResourceResponse 1 devices repeated Device
NodePrepareResourceResponse 2 error string
NodePrepareResourcesRequest 1 claims repeated Claim
NodePrepareResourcesResponse 1 claims map<string, NodePrepareResourceResponse>
NodeUnprepareResourceResponse 1 error string
NodeUnprepareResourcesRequest 1 claims repeated Claim
NodeUnprepareResourcesResponse 1 claims map<string, NodeUnprepareResourceResponse>
"""
_HEALTH_FIELDS = """
DeviceHealth 1 device DeviceIdentifier
DeviceHealth 2 health HealthStatus
DeviceHealth 3 last_updated_time int64
DeviceHealth 4 health_check_timeout_seconds int64
DeviceHealth 5 message string
DeviceIdentifier 1 pool_name string
DeviceIdentifier 2 device_name string
NodeWatchResourcesResponse 1 devices repeated DeviceHealth
"""
FIELDS = {
    "pluginregistration": _REGISTRATION_FIELDS,
    "k8s.io.kubelet.pkg.apis.dra.v1": _DRA_FIELDS + "Device 5 share_id optional string\n",
    "k8s.io.kubelet.pkg.apis.dra.v1beta1": _DRA_FIELDS,
    "v1": _HEALTH_FIELDS,
    "v1alpha1": _HEALTH_FIELDS,
}

_TYPES = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_INT64: "int64",
}


def type_name(field: FieldDescriptor) -> str:
    if field.message_type and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        return f"map<{type_name(key)}, {type_name(value)}>"
    named = field.message_type or field.enum_type
    name = named.name if named else _TYPES[field.type]
    if field.is_repeated:
        return f"repeated {name}"
    return f"optional {name}" if field.has_presence and not field.message_type else name


def fields_of(file: FileDescriptor) -> list[str]:
    return [
        f"{message.name} {field.number} {field.name} {type_name(field)}"
        for message in file.message_types_by_name.values()
        for field in message.fields
    ]


def methods_of(file: FileDescriptor) -> list[str]:
    return [
        f"/{service.full_name}/{method.name} {method.input_type.name} -> "
        f"{'stream ' if method.server_streaming else ''}{method.output_type.name}"
        for service in file.services_by_name.values()
        for method in service.methods
    ]


@pytest.mark.parametrize("package", FILES)
def test_method_names_on_the_wire_are_the_kubelets(package: str) -> None:
    file = FILES[package]

    methods = methods_of(file)

    assert file.package == package
    assert sorted(methods) == sorted(METHODS[package].format(package=package).split("\n")[1:-1])


@pytest.mark.parametrize("package", FILES)
def test_field_numbers_and_types_are_the_kubelets(package: str) -> None:
    file = FILES[package]

    fields = fields_of(file)

    assert sorted(fields) == sorted(FIELDS[package].strip().split("\n"))


@pytest.mark.parametrize("contract", [health_v1, health_v1alpha1], ids=["v1", "v1alpha1"])
def test_unknown_is_the_health_that_an_empty_message_means(contract: object) -> None:
    values = contract.DESCRIPTOR.enum_types_by_name["HealthStatus"].values  # type: ignore[attr-defined]

    numbers = {value.name: value.number for value in values}

    assert numbers == {"UNKNOWN": 0, "HEALTHY": 1, "UNHEALTHY": 2}


def test_a_v1_answer_read_as_v1beta1_lacks_nothing_but_the_share() -> None:
    device = dra_v1.Device(
        request_names=["small"],
        pool_name="node-1",
        device_name="gpu-0",
        cdi_device_ids=["tangram.dev/claim=uid-1"],
        share_id="4f0f7a3e-0000-4000-8000-000000000001",
    )
    claim = dra_v1.NodePrepareResourceResponse(devices=[device])
    encoded = dra_v1.NodePrepareResourcesResponse(claims={"uid-1": claim}).SerializeToString()

    decoded = dra_v1beta1.NodePrepareResourcesResponse.FromString(encoded)

    assert MessageToDict(decoded, preserving_proto_field_name=True) == {
        "claims": {
            "uid-1": {
                "devices": [
                    {
                        "request_names": ["small"],
                        "pool_name": "node-1",
                        "device_name": "gpu-0",
                        "cdi_device_ids": ["tangram.dev/claim=uid-1"],
                    }
                ]
            }
        }
    }


def test_a_v1beta1_request_reads_the_same_as_v1() -> None:
    claim = dra_v1beta1.Claim(namespace="train", uid="uid-1", name="mig")

    decoded = dra_v1.Claim.FromString(claim.SerializeToString())

    assert (decoded.namespace, decoded.uid, decoded.name) == ("train", "uid-1", "mig")
