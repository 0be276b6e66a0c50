"""Reads one configuration strictly: a field unknown, doubled, of another type or out of range is refused.

One error names the requests, the field, the value found and what is allowed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from scheduler_core.base.limits import OPAQUE_LENGTH
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration import nvidia
from scheduler_core.frontends.configuration.errors import ALL_REQUESTS, InvalidConfig
from scheduler_core.frontends.configuration.network import read_nic_config, read_vf_config
from scheduler_core.frontends.configuration.sharing import read_mig_sharing, read_sharing
from scheduler_core.frontends.configuration.values import API_VERSION, Config, GpuConfig, MigConfig


def _gpu_config(fields: Fields) -> GpuConfig:
    fields.only("apiVersion", "kind", "sharing")
    return GpuConfig(read_sharing(fields))


def _mig_config(fields: Fields) -> MigConfig:
    fields.only("apiVersion", "kind", "sharing")
    return MigConfig(read_mig_sharing(fields))


_READERS: Final[Mapping[str, Mapping[str, Callable[[Fields], Config]]]] = {
    API_VERSION: {
        "GpuConfig": _gpu_config,
        "MigConfig": _mig_config,
        "VfConfig": read_vf_config,
        "NicConfig": read_nic_config,
    },
    nvidia.API_VERSION: {
        "GpuConfig": nvidia.read_gpu_config,
        "MigDeviceConfig": nvidia.read_mig_device_config,
    },
}


class JsonObject(dict[str, Any]):
    """An object of a JSON text. Shape: ``doubled`` is a key that the text has twice, None for none."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.doubled: str | None = None
        if len(self) < len(pairs):
            keys = [key for key, _ in pairs]
            self.doubled = next(key for index, key in enumerate(keys) if key in keys[:index])


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; each object remembers a key that it has twice.

    Raises: ValueError, RecursionError.
    """
    return json.loads(text, object_pairs_hook=JsonObject)


def decode_config(parameters: Mapping[str, Any], subject: str = ALL_REQUESTS) -> Config:
    """Read the parameters of an opaque configuration.

    Shape: ``subject`` is the requests that it is for, for messages.
    Raises: InvalidConfig.
    """
    kind = parameters.get("kind")
    _refuse_doubled(parameters, subject, kind if isinstance(kind, str) else "")
    top = Fields(parameters, subject, "", InvalidConfig)
    version = top.text("apiVersion", "")
    readers = _READERS.get(version)
    if readers is None:
        raise top.refuse("apiVersion", f"must be {' or '.join(_READERS)}", version)
    reader = readers.get(top.text("kind", ""))
    if reader is None:
        raise top.refuse("kind", _kind_rule(version, str(kind), readers), kind or "")
    return reader(Fields(parameters, subject, str(kind), InvalidConfig))


def decode_text(text: str | bytes, subject: str = ALL_REQUESTS) -> Config:
    """Read the parameters as the API stores them, a JSON text, in which a key can be there twice.

    Raises: InvalidConfig.
    """
    size = len(text.encode() if isinstance(text, str) else text)
    if size > OPAQUE_LENGTH:
        raise InvalidConfig(
            subject, "parameters", None, f"has {size} bytes; at most {OPAQUE_LENGTH} are allowed"
        )
    try:
        found = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise InvalidConfig(subject, "parameters", None, f"must be a JSON object: {error}") from error
    if not isinstance(found, JsonObject):
        raise InvalidConfig(subject, "parameters", found, "must be a JSON object")
    return decode_config(found, subject)


def _kind_rule(version: str, kind: str, readers: Mapping[str, object]) -> str:
    known = " or ".join([", ".join([*readers][:-1]), [*readers][-1]])
    if version == nvidia.API_VERSION and kind in nvidia.OTHER_KINDS:
        return f"asks for what this driver does not do; of NVIDIA's kinds it reads {known}"
    return f"must be {known}"


def _refuse_doubled(value: object, subject: str, path: str) -> None:
    """Refuse a key that the text has twice."""
    if isinstance(value, JsonObject) and value.doubled is not None:
        key = value.doubled
        raise InvalidConfig(subject, f"{path}.{key}" if path else key, None, "is there twice")
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _refuse_doubled(inner, subject, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _refuse_doubled(inner, subject, f"{path}[{index}]")
