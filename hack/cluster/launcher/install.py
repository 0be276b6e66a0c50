"""Put Tangram into the cluster that runs, as a user does: ``kubectl apply -k`` of a shipped overlay.

In go a running cluster whose nodes have the image; Tangram's pods are ready in the end. Another machine than
the overlay's comes by a kustomization that replaces the one ConfigMap; the shipped files are never changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from launcher.build import CHECKOUT
from launcher.errors import LauncherError
from launcher.peer import device_class
from launcher.settings import Settings

_OVERLAY = CHECKOUT / "deploy" / "manifests" / "overlays" / "simulated"
_CLASSES = CHECKOUT / "deploy" / "manifests" / "base" / "device-classes"
_NAMESPACE = "tangram-system"
_READY_S = 120
_IMAGE_S = 900


def install(settings: Settings, say: Callable[[str], None]) -> None:
    """Apply the overlay for simulated machines unless the cluster shall stay bare; and the peer's class.

    Raises: LauncherError with what kubectl and the pods say.
    """
    if settings.peer is not None:
        _kubectl(settings, "apply", "--filename=-", given=device_class())
    if settings.is_bare:
        if settings.node_objects:
            _kubectl(settings, "apply", "-k", str(_CLASSES))
        return
    overlay = _OVERLAY if settings.machine is None else _with_machine(settings, settings.machine)
    _kubectl(settings, "apply", "-k", str(overlay))
    rollout = ("rollout", "status", "daemonset/tangram", f"--timeout={_READY_S}s")
    try:
        _kubectl(settings, "--namespace", _NAMESPACE, *rollout)
    except LauncherError as error:
        raise LauncherError(f"{error}\n{_complaints(settings)}") from error
    say("Tangram is installed")


def machine_file(wanted: str) -> Path:
    """Return the file of a simulated machine: one that ships with the package, or any other.

    Raises: LauncherError naming those that ship.
    """
    shipped = CHECKOUT / "agent" / "hardware" / "simulated" / "nodes"
    for path in (shipped / f"{wanted}.yaml", Path(wanted)):
        if path.is_file():
            return path.absolute()
    names = ", ".join(sorted(path.stem for path in shipped.glob("*.yaml")))
    raise LauncherError(f"cannot find machine {wanted!r}: no such file, and shipped are {names}")


def tangram_image() -> Path:
    """Return the archive of the image with the present sources, built now if need be.

    Raises: LauncherError where it cannot be built; the builder has said why.
    """
    command = (sys.executable, str(CHECKOUT / "hack" / "image.py"), "build")
    try:
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=_IMAGE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise LauncherError(
            f"cannot build Tangram's image: not done after {_IMAGE_S} s; see above"
        ) from error
    if answer.returncode != 0:
        raise LauncherError(f"cannot build Tangram's image: exit status {answer.returncode}; see above")
    return Path(answer.stdout.strip())


def _with_machine(settings: Settings, machine: Path) -> Path:
    """Write a kustomization that puts another machine's file in the place of the overlay's."""
    folder = settings.folder / "overlay"
    folder.mkdir()
    (folder / "node.yaml").write_text(machine.read_text())
    config_map = {
        "name": "simulated-node",
        "namespace": _NAMESPACE,
        "behavior": "replace",
        "files": ["node.yaml"],
    }
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(_OVERLAY, folder)],
        "configMapGenerator": [config_map],
    }
    (folder / "kustomization.yaml").write_text(json.dumps(document))
    return folder


def _complaints(settings: Settings) -> str:
    """Return what the pods' events and logs say last."""
    events = ("events", "--types=Warning")
    logs = ("logs", "--selector=app.kubernetes.io/name=tangram", "--all-containers", "--prefix", "--tail=10")
    told = []
    for command in (events, logs):
        try:
            told.append(_kubectl(settings, "--namespace", _NAMESPACE, *command))
        except LauncherError as error:
            told.append(str(error))
    return "\n".join(told)


def _kubectl(settings: Settings, *arguments: str, given: str = "") -> str:
    command = (str(settings.kubectl), f"--kubeconfig={settings.kubeconfig}", *arguments)
    limit_s = _READY_S + 30
    try:
        answer = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise LauncherError(f"cannot {' '.join(arguments)}: no answer after {limit_s} s") from error
    if answer.returncode != 0:
        raise LauncherError(f"cannot {' '.join(arguments)}: {answer.stderr.strip() or answer.stdout.strip()}")
    return answer.stdout
