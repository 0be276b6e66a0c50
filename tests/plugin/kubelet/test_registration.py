"""What the kubelet is told when it finds the registration socket."""

from __future__ import annotations

import logging
from typing import Any, NoReturn

import grpc
import pytest

from plugin._pb.pluginregistration_v1 import api_pb2
from plugin.kubelet.registration import SUPPORTED_VERSIONS, RegistrationServicer


class Aborted(Exception):
    """The call was ended with a status."""


class Caller:
    """What an answer needs of the call."""

    def abort(self, code: grpc.StatusCode, text: str) -> NoReturn:
        raise Aborted(code, text)


@pytest.fixture
def servicer(bench: Any) -> RegistrationServicer:
    return RegistrationServicer(bench.options)


def test_the_kubelet_learns_the_drivers_name_its_socket_and_the_newest_service_first(
    bench: Any, servicer: RegistrationServicer
) -> None:
    info = servicer.GetInfo(api_pb2.InfoRequest(), Caller())  # type: ignore[arg-type]

    assert (info.type, info.name) == ("DRAPlugin", "tangram.dev")
    assert info.endpoint == str(bench.options.dra_socket)
    assert tuple(info.supported_versions) == SUPPORTED_VERSIONS
    assert SUPPORTED_VERSIONS[0] == "v1.DRAPlugin"


def test_a_registration_is_logged(servicer: RegistrationServicer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        servicer.NotifyRegistrationStatus(
            api_pb2.RegistrationStatus(plugin_registered=True),
            Caller(),  # type: ignore[arg-type]
        )

    assert caplog.messages == ["the kubelet registered driver tangram.dev"]


def test_a_refusal_is_logged_with_its_reason_and_fails_the_call(
    servicer: RegistrationServicer, caplog: pytest.LogCaptureFixture
) -> None:
    refusal = api_pb2.RegistrationStatus(plugin_registered=False, error="version unknown")

    with pytest.raises(Aborted, match="version unknown"):
        servicer.NotifyRegistrationStatus(refusal, Caller())  # type: ignore[arg-type]

    assert caplog.messages == ["the kubelet refused driver tangram.dev: version unknown"]
