"""Opaque configurations: those of NVIDIA's driver that the plugin reads get its driver's name."""

from __future__ import annotations

from typing import Any

from scheduler_core.frontends.configuration.decode import decode_config
from scheduler_core.frontends.configuration.errors import InvalidConfig, requests_text
from scheduler_core.frontends.migration.names import DRIVER, LOST_DRIVERS
from scheduler_core.frontends.migration.values import Notes, entries, mapping
from scheduler_core.model.names import DEFAULT_DRIVER


def migrated_configs(configs: Any, path: str, notes: Notes) -> Any:
    """Return the configurations of a claim or class; what the plugin would refuse stays, with a note."""
    if not isinstance(configs, list):
        return configs
    return [_migrated(one, f"{path}[{index}].opaque", notes) for index, one in entries(configs)]


def _migrated(config: Any, path: str, notes: Notes) -> Any:
    opaque = mapping(mapping(config).get("opaque"))
    driver = opaque.get("driver")
    if isinstance(driver, str) and driver in LOST_DRIVERS:
        notes.add(path, f"driver {driver}: {LOST_DRIVERS[driver]}")
    if driver != DRIVER:
        return config
    try:
        decode_config(mapping(opaque.get("parameters")), requests_text(_requests(config)))
    except InvalidConfig as error:
        notes.add(path, str(error))
        return config
    return {**config, "opaque": {**opaque, "driver": DEFAULT_DRIVER}}


def _requests(config: Any) -> list[str]:
    return [str(one) for _, one in entries(config.get("requests"))]
