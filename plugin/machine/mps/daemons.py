"""The MPS daemons of this node: one for each GPU or MIG device whose programs run under MPS.

What is known of a daemon is a file in its folder, written before anything is changed for it: which device it
serves, its limits, and the compute mode that the GPU had. So a daemon is found again after any crash, and
ended as it was begun. The folders are in ``/run``: a boot leaves neither daemon nor file nor compute mode.
The caller holds the GPU's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from agent.hardware.errors import NotFound, NotSupported, TimedOut
from agent.hardware.mps.ports import MpsControl, MpsFolders, MpsLimits, daemon_name
from agent.hardware.ports import Gpus
from agent.hardware.types import ComputeMode
from plugin.base import files
from plugin.machine.mps.daemon import Daemon

_FILE: Final = "daemon.json"
_MODE: Final = 0o600
_DAEMONS: Final = msgspec.json.Decoder(Daemon)
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MpsDaemons:
    """Starts daemons where they are missing, and ends them."""

    control: MpsControl
    gpus: Gpus

    def folders(self, uuid: str) -> MpsFolders:
        """Return the folders of the daemon that serves a device."""
        return self.control.folders(daemon_name(uuid))

    def known(self) -> Iterator[Daemon]:
        """Yield all daemons that were begun and not ended. Raises: StorageFailed."""
        for name in self.control.names():
            found = self._load(name)
            if found is not None:
                yield found

    def is_running(self, uuid: str) -> bool:
        """Whether the process of the daemon that serves a device is alive."""
        return self.control.is_running(daemon_name(uuid))

    def gone(self) -> Mapping[str, str]:
        """Return why devices cannot be used, by published name: their daemon does not run."""
        reason = "its MPS daemon does not run; it is started again"
        return {one.device: reason for one in self.known() if not self.is_running(one.uuid)}

    def ensure(self, wanted: Daemon) -> None:
        """Have a daemon run and answer, with these limits; one that does so already stays as it is.

        Raises: HardwareError, StorageFailed. What was begun stays for ``end``.
        """
        known = self._load(wanted.name)
        if known is not None and known.limits != wanted.limits:
            self.end(wanted.uuid)
            known = None
        if known is None:
            known = msgspec.structs.replace(wanted, before=self._mode_before(wanted))
            files.replace(self._path(wanted.name), msgspec.json.encode(known), _MODE, synced=False)
        self._make_exclusive(known)
        if self.is_running(known.uuid):
            self._refuse_silent(known)
        else:
            self.control.start_daemon(known.name, known.uuid)
            _log.info("the MPS daemon of %s (%s) runs", known.device, known.uuid)
        if known.limits != MpsLimits():
            self.control.limit_programs(known.name, known.limits, known.uuid)

    def end(self, uuid: str) -> None:
        """End the daemon of a device and restore its GPU's compute mode; one that is gone is no error.

        Raises: HardwareError, StorageFailed. A second call goes on from there.
        """
        name = daemon_name(uuid)
        if name not in self.control.names():
            return
        known = self._load(name)
        self.control.end_daemon(name)
        if known is not None:
            self._restore_mode(known)
        self.control.remove_folders(name)
        _log.info("the MPS daemon of %s is ended", uuid)

    def _refuse_silent(self, daemon: Daemon) -> None:
        """Check that a daemon which runs answers. It is not ended: programs of other claims may use it."""
        if not self.control.answers(daemon.name):
            log = self.control.folders(daemon.name).log
            reason = f"it runs and does not answer; its log is in {log}"
            raise TimedOut("use", f"the MPS daemon of {daemon.device}", reason)

    def _mode_before(self, wanted: Daemon) -> ComputeMode | None:
        if not wanted.is_exclusive:
            return None
        try:
            return self.gpus.compute_mode(wanted.gpu)
        except NotSupported as error:
            _log.warning("programs may go past the MPS daemon of %s: %s", wanted.device, error)
            return None

    def _make_exclusive(self, daemon: Daemon) -> None:
        if daemon.before is None or self.gpus.compute_mode(daemon.gpu) is ComputeMode.EXCLUSIVE_PROCESS:
            return
        self.gpus.set_compute_mode(daemon.gpu, ComputeMode.EXCLUSIVE_PROCESS)

    def _restore_mode(self, daemon: Daemon) -> None:
        """Restore a mode that is still as we set it; what somebody else set since stays."""
        if daemon.before is None:
            return
        try:
            now = self.gpus.compute_mode(daemon.gpu)
            if now is ComputeMode.EXCLUSIVE_PROCESS and now is not daemon.before:
                self.gpus.set_compute_mode(daemon.gpu, daemon.before)
            elif now is not daemon.before:
                _log.warning("GPU %s: compute mode %s, which no claim set, stays", daemon.gpu, now)
        except NotFound as error:
            _log.warning("the compute mode went with the GPU: %s", error)

    def _load(self, name: str) -> Daemon | None:
        data = files.read(self._path(name))
        if not data:
            return None
        try:
            return _DAEMONS.decode(data)
        except msgspec.DecodeError as error:
            _log.error("what is known of MPS daemon %s cannot be read and counts as nothing: %s", name, error)
            return None

    def _path(self, name: str) -> Path:
        return self.control.folders(name).root / _FILE
