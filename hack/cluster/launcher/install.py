"""Put Tangram into the cluster that runs, as a user does: ``kubectl apply -k`` of a shipped overlay.

In go a running cluster whose nodes have the image; Tangram's pods are ready in the end. Another machine than
the overlay's, options and the controller come by a kustomization; the shipped files are never changed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from launcher.build import CHECKOUT
from launcher.errors import LauncherError
from launcher.peer import device_class
from launcher.settings import Settings

_OVERLAY = CHECKOUT / "deploy" / "manifests" / "overlays" / "simulated"
_CONTROLLER = CHECKOUT / "deploy" / "manifests" / "overlays" / "controller"
_POOLS = CHECKOUT / "deploy" / "manifests" / "multi-node-pools"
_OWNED = "tangram.dev/allocator=controller"
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
    is_plain = settings.machine is None and not settings.with_controller and not settings.driver_options
    overlay = _OVERLAY if is_plain else _kustomization(settings)
    if settings.with_controller:
        _kubectl(settings, "label", "nodes", *settings.node_names, _OWNED)
    _kubectl(settings, "apply", "-k", str(overlay))
    _wait_until_ready(settings, "daemonset/tangram")
    if settings.with_controller:
        _wait_until_ready(settings, "deployment/tangram-controller")
    say(f"Tangram is installed{', with its controller' if settings.with_controller else ''}")


def _wait_until_ready(settings: Settings, program: str) -> None:
    rollout = ("rollout", "status", program, f"--timeout={_READY_S}s")
    try:
        _kubectl(settings, "--namespace", _NAMESPACE, *rollout)
    except LauncherError as error:
        raise LauncherError(f"{error}\n{_complaints(settings)}") from error


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


def _kustomization(settings: Settings) -> Path:
    """Write a kustomization with another machine's file, the controller, or options; return its folder."""
    folder = settings.folder / "overlay"
    folder.mkdir()
    document: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(_OVERLAY, folder)],
    }
    if settings.with_controller:
        document["resources"] += [os.path.relpath(one, folder) for one in (_CONTROLLER, _POOLS)]
        document["images"] = [
            {"name": "registry.invalid/tangram", "newName": "localhost/tangram", "newTag": "test"}
        ]
    if settings.machine is not None:
        (folder / "node.yaml").write_text(settings.machine.read_text())
        replaced = {"name": "simulated-node", "namespace": _NAMESPACE}
        document["configMapGenerator"] = [{**replaced, "behavior": "replace", "files": ["node.yaml"]}]
    if settings.driver_options:
        patch = [
            {"op": "add", "path": f"/spec/template/spec/containers/{container}/args/-", "value": option}
            for option in settings.driver_options
            for container in (0, 1)
        ]
        target = {"kind": "DaemonSet", "name": "tangram"}
        document["patches"] = [{"target": target, "patch": json.dumps(patch)}]
    (folder / "kustomization.yaml").write_text(json.dumps(document))
    return folder


def _complaints(settings: Settings) -> str:
    """Return what the pods' events and logs say last."""
    events = ("events", "--types=Warning")
    ours = "--selector=app.kubernetes.io/name in (tangram, tangram-controller)"
    logs = ("logs", ours, "--all-containers", "--prefix", "--tail=10")
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
