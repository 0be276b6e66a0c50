"""Finds the API server's address and our credentials, in the same places as other Kubernetes programs.

Takes options, environment and mounted files; returns a configuration of the ``kubernetes`` package. It is
loaded again when the server refuses the credentials, since tokens and certificates are replaced on disk.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kube_api.errors import NotConfigured
from kube_api.kubernetes_parts import (
    SERVICE_HOST_ENV_NAME,
    SERVICE_PORT_ENV_NAME,
    ConfigException,
    Configuration,
    InClusterConfigLoader,
    tcp_keepalive_socket_options,
)

# A peer that vanished is noticed after 30 + 3 x 10 s, also where a server sends no bookmarks.
_KEEPALIVE = {"idle": 30, "interval": 10, "count": 3}
_POOLED_CONNECTIONS = 16
# What the loader of kubeconfig files raises for documents that are no kubeconfig.
_MALFORMED = (
    ConfigException,
    OSError,
    yaml.YAMLError,
    AttributeError,
    KeyError,
    RecursionError,
    TypeError,
    ValueError,
)
_MAX_BYTES = 16 * 2**20
"""More than any kubeconfig. The loader reads a file whole, and waits for the writer of a pipe."""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """One or several kubeconfig files, joined as ``KUBECONFIG`` joins them."""

    files: str
    context: str | None

    def load(self) -> Configuration:
        """Read the files; where they name a program for credentials, run it. Raises: NotConfigured."""
        from kubernetes.config.kube_config import (  # noqa: PLC0415 - see kubernetes_parts
            KubeConfigLoader,
            KubeConfigMerger,
        )

        configuration = _empty()
        with self._refusals():
            files = KubeConfigMerger(self.files)
            loader = KubeConfigLoader(
                files.config, self.context, config_base_path=None, config_persister=files.save_changes
            )
            token = _token_file(files.config, loader.current_context["context"].get("user"))
        self._refuse_odd(token)
        with self._refusals():
            loader.load_and_set(configuration)
        return configuration

    def _refuse_odd(self, token: Path | None) -> None:
        """Refuse a file that the loader would read without end. Raises: NotConfigured."""
        state = None if token is None else _state(str(token))
        if state is not None and (reason := _why_odd(state)):
            what = f"its tokenFile {token}: {reason}"
            raise NotConfigured(f"cannot use kubeconfig {self.files}: {what}; correct it or name another")

    def active_context(self) -> Mapping[str, Any]:
        """Return the context that is used, as it is written, with its name. Raises: NotConfigured."""
        from kubernetes.config.kube_config import (  # noqa: PLC0415 - see kubernetes_parts
            KubeConfigLoader,
            KubeConfigMerger,
        )

        with self._refusals():
            found = KubeConfigLoader(KubeConfigMerger(self.files).config, self.context)
            return dict(found.current_context)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        try:
            yield
        except _MALFORMED as problem:
            used = f"context {self.context} of " if self.context else ""
            raise NotConfigured(
                f"cannot use {used}kubeconfig {self.files}: {_line(problem)}; correct it or name another"
            ) from problem


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """The service account that Kubernetes mounts into a pod."""

    folder: Path
    environ: Mapping[str, str]

    def load(self) -> Configuration:
        """Read the mounted files as they are now. Raises: NotConfigured."""
        configuration = _empty()
        loader = InClusterConfigLoader(
            token_filename=str(self.folder / "token"),
            cert_filename=str(self.folder / "ca.crt"),
            environ=self.environ,
        )
        try:
            loader.load_and_set(configuration)
        except (ConfigException, OSError) as problem:
            raise NotConfigured(
                f"cannot use service account {self.folder}: {_line(problem)}; "
                "the pod needs automountServiceAccountToken"
            ) from problem
        return configuration


Origin = Kubeconfig | ServiceAccount


def find(
    kubeconfig: Path | None, context: str | None, environ: Mapping[str, str], service_account: Path
) -> Origin:
    """Choose the option, else KUBECONFIG, else ~/.kube/config, else the pod's service account.

    Raises: NotConfigured with all places that were searched.
    """
    if kubeconfig is not None:
        return _existing(str(kubeconfig), context, "option")
    if named := environ.get("KUBECONFIG"):
        return _existing(named, context, "environment variable KUBECONFIG")
    # A container's user often has no entry among the users and no home: "~" stays as it is then.
    usual = Path(environ.get("HOME") or os.path.expanduser("~")) / ".kube" / "config"
    if usual.is_absolute() and usual.is_file():
        return Kubeconfig(str(usual), context)
    if environ.get(SERVICE_HOST_ENV_NAME) and (service_account / "token").exists():
        return ServiceAccount(service_account, environ)
    raise NotConfigured(
        "cannot find an API server: no kubeconfig option, no environment variable KUBECONFIG, no file "
        f"{usual}, and this process runs in no pod ({SERVICE_HOST_ENV_NAME}, {SERVICE_PORT_ENV_NAME} and "
        f"{service_account / 'token'}); give one of them"
    )


def _existing(files: str, context: str | None, said_by: str) -> Kubeconfig:
    states = {file: _state(file) for file in files.split(os.pathsep) if file}
    found = {file: state for file, state in states.items() if state is not None}
    if not found:
        raise NotConfigured(f"cannot read kubeconfig {files}: no such file; correct the {said_by}")
    for file, state in found.items():
        if reason := _why_odd(state):
            raise NotConfigured(f"cannot read kubeconfig {file}: {reason}; correct the {said_by}")
    return Kubeconfig(files, context)


def _state(file: str) -> os.stat_result | None:
    try:
        return os.stat(os.path.expanduser(file))
    except (OSError, ValueError):  # no path at all: reading it says what is wrong
        return None


def _why_odd(state: os.stat_result) -> str | None:
    """Return why a file should not be read, None where it may be."""
    if not stat.S_ISREG(state.st_mode):
        return "it is no regular file"
    return f"it is larger than {_MAX_BYTES // 2**20} MiB" if state.st_size > _MAX_BYTES else None


def _token_file(config: Any, name: str | None) -> Path | None:
    """Return the file that has a user's token, None where it comes from elsewhere."""
    users = config.safe_get("users")
    found = config["users"].get_with_name(name, safe=True) if name and users else None
    user = found["user"] if found and found.value.get("user") else None
    if user is None or "token" in user or "tokenFile" not in user:
        return None
    return Path(os.path.dirname(user.path)).absolute().joinpath(user["tokenFile"])


def _line(problem: Exception) -> str:
    return " ".join(str(problem).split())  # YAML's errors have several lines


def _empty() -> Configuration:
    configuration = Configuration()
    configuration.connection_pool_maxsize = _POOLED_CONNECTIONS
    configuration.socket_options = tcp_keepalive_socket_options(**_KEEPALIVE)
    return configuration
