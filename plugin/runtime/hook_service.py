"""Answers the hooks of container runtimes: each asks for one device of a claim in one pod.

One thread listens to the bell; a few others bring interfaces in. A request that nobody awaits is dropped.
"""

from __future__ import annotations

import logging
import os
import select
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Thread
from typing import Final

import msgspec

from daemon.log_fields import fields
from plugin.base.claim_uid import is_uid
from plugin.base.errors import PluginError, Unexpected
from plugin.cdi.hook import ANSWER_S
from plugin.claim.driver import Driver
from plugin.claim.record_store import RecordStore
from plugin.machine.namespaces import namespace_of
from plugin.runtime.mailbox import Mailbox, Request
from plugin.runtime.paths import HookPaths
from plugin.telling.ports import ClaimObserver
from scheduler_core.model.claim import ClaimUid

_WORKERS: Final = 8
_RINGS: Final = 4096
_GOODBYE_S: Final = 5.0
_ATTEMPTED: Final = "bring in"
_log = logging.getLogger(__name__)


class _State(msgspec.Struct):
    """What is used of a container's state. Source: OCI runtime specification, State."""

    pid: int


_STATES: Final = msgspec.json.Decoder(_State)


@dataclass(frozen=True, slots=True)
class _Question:
    """A request that was understood."""

    uid: ClaimUid
    device: str
    pid: int


class HookService:
    """Serves the hooks of one driver from ``begin`` to ``close``."""

    def __init__(self, driver: Driver, observer: ClaimObserver, paths: HookPaths) -> None:
        self._driver = driver
        self._observer = observer
        self._mailbox = Mailbox(paths.hook_dir)
        self._store = RecordStore(paths.claims_dir)
        self._host_root = paths.host_root
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="hook")
        self._begun: set[Future[None]] = set()
        self._thread = Thread(target=self._listen, name="hooks", daemon=True)
        self._bell = -1
        self._end_read, self._end_write = -1, -1

    def begin(self) -> None:
        """Make the mailbox and listen; requests that wait are answered at once. Raises: StorageFailed."""
        self._bell = self._mailbox.set_up()
        self._end_read, self._end_write = os.pipe()
        self._thread.start()

    def close(self) -> None:
        """Listen no more, and let what was begun end within a few seconds."""
        if not self._thread.is_alive():
            return
        os.write(self._end_write, b".")
        self._thread.join()
        self._workers.shutdown(wait=False)
        wait(self._begun, _GOODBYE_S)
        for descriptor in (self._bell, self._end_read, self._end_write):
            os.close(descriptor)

    def _listen(self) -> None:
        while True:
            self._take_all()
            ready, _, _ = select.select([self._bell, self._end_read], [], [])
            if self._end_read in ready:
                return
            try:
                os.read(self._bell, _RINGS)
            except BlockingIOError:  # the plugin of another version heard it first
                continue

    def _take_all(self) -> None:
        try:
            for request in self._mailbox.take():
                begun = self._workers.submit(self._handle, request)
                self._begun.add(begun)
                begun.add_done_callback(self._begun.discard)
        except PluginError as error:
            _log.error("hooks get no answer: %s", error)

    def _handle(self, request: Request) -> None:
        """Answer one request. Whatever happens, the hook hears of it."""
        if not request.is_awaited():
            return
        try:
            line = self._answer(request)
        except Exception as error:  # noqa: BLE001 - the outermost loop: the hook must get an answer
            _log.exception("a hook's request failed unexpectedly")
            line = str(Unexpected(_ATTEMPTED, "the device", f"unexpected {type(error).__name__}: {error}"))
        if not request.answer(line):
            _log.warning("a hook gave up waiting before it was told: %s", line)

    def _answer(self, request: Request) -> str:
        question = _read(request.text)
        if question is None:
            return "its request cannot be read: it must have the claim's UID, the device, and the state"
        try:
            pod = namespace_of(question.pid, self._host_root, f"device {question.device}")
            budget = self._driver.budgets.begin(request.is_awaited, ANSWER_S)
            ref = self._driver.bring_in(question.uid, question.device, pod, budget)
        except PluginError as error:
            _log.warning("%s", error, extra=fields(uid=question.uid, device=question.device))
            self._tell(question, error)
            return str(error)
        self._observer.changed(question.uid, ref)
        about = fields(namespace=ref.namespace, claim=ref.name, uid=question.uid, device=question.device)
        _log.info("claim %s (%s): device %s is in the pod", ref, question.uid, question.device, extra=about)
        return "ok"

    def _tell(self, question: _Question, error: PluginError) -> None:
        record, _ = self._store.peek(question.uid)
        if record is not None:
            self._observer.failed(question.uid, record.ref, _ATTEMPTED, error)


def _read(text: bytes) -> _Question | None:
    parts = text.split(b"\n", 2)
    try:
        uid, device = parts[0].decode(), parts[1].decode()
        pid = _STATES.decode(parts[2]).pid
    except (IndexError, UnicodeDecodeError, msgspec.DecodeError):
        return None
    return _Question(ClaimUid(uid), device, pid) if is_uid(uid) and pid > 0 else None
