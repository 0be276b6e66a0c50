"""Keeps the webhook's certificates: the part of the leader.

Looks at the Secret and at what API servers trust, asks ``controller.certificates.plan`` and carries it out.
First the authorities are trusted, then what they signed is stored; the other processes serve it from there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509

from controller.certificates.life import Life
from controller.certificates.plan import Keep, NewAuthority, RenewLeaf, Step, Tidy, carried_out, plan
from controller.certificates.ports import CertificateError, Secrets, Trust
from controller.certificates.stored import (
    Stored,
    bundle,
    data_of,
    read_certificates,
    read_stored,
    together,
)
from daemon.backoff import Backoff

_LOOKS: Final = timedelta(hours=1)
_LONGEST_S: Final = 60.0
_LEAST_S: Final = 1.0  # also where somebody else changes the Secret again and again
_log: Final = logging.getLogger(__name__)


class Keeper:
    """Makes and replaces the certificates of one webhook. ``wake`` may be called by any thread.

    Shape: ``names`` are the DNS names of the webhook; ``wall_clock`` gives seconds since 1970, ``clock``
           seconds that never go back; ``may_write`` says whether this process is the leader.
    """

    def __init__(
        self,
        secrets: Secrets,
        trust: Trust,
        names: Sequence[str],
        *,
        may_write: Callable[[], bool],
        wall_clock: Callable[[], float],
        clock: Callable[[], float],
        life: Life | None = None,
    ) -> None:
        self._secrets = secrets
        self._trust = trust
        self._names = tuple(names)
        self._may_write = may_write
        self._wall_clock = wall_clock
        self._clock = clock
        self._life = life or Life()
        self._trusted_since: dict[x509.Certificate, float] = {}
        self._wake = threading.Event()

    def wake(self) -> None:
        """Look again soon: the Secret, the trust or the leader has changed."""
        self._wake.set()

    def run(self, stop: threading.Event) -> None:
        """Keep the certificates while this process is the leader; to end it set ``stop``, then ``wake``."""
        backoff, told = Backoff(most=_LONGEST_S), ""
        while not stop.is_set():
            pause_s = _LOOKS.total_seconds()
            try:
                if self._may_write():
                    pause_s = self.turn()
                backoff, told = Backoff(most=_LONGEST_S), ""
            except CertificateError as error:
                backoff = backoff.failed()
                pause_s = backoff.wait()
                if told != (told := str(error)):
                    _log.warning("the certificates are not as they should be, it is tried again: %s", error)
            except Exception:  # noqa: BLE001  # the outermost loop of this thread
                backoff = backoff.failed()
                pause_s = backoff.wait()
                _log.exception("the certificates were not looked at, it is tried again")
            if pause_s:
                self._wake.wait(pause_s)
            else:
                stop.wait(_LEAST_S)
            self._wake.clear()

    def turn(self) -> float:
        """Look once and do what is due. Return after how many seconds to look again, 0 after a change.

        Raises: CertificateError.
        """
        found = self._secrets.read()
        stored = read_stored(found.data if found else {})
        now = datetime.fromtimestamp(self._wall_clock(), UTC)
        present = self._present()
        step = plan(stored, self._names, now, self._settled(), self._life)
        wanted = carried_out(step, stored, self._names, now, self._life)
        trusted = bundle(together(wanted.authorities, (one for each in present for one in each), now))
        if any(bundle(each) != trusted for each in present):
            self._trust.trust(trusted)
        if isinstance(step, Keep):
            return min(max((step.until - now), timedelta(seconds=1)), _LOOKS).total_seconds()
        self._secrets.write(data_of(wanted), found)
        _say(step, stored if found and found.data else Stored())
        return 0.0

    def _present(self) -> tuple[tuple[x509.Certificate, ...], ...]:
        """Return what each entry trusts now, and note since when each authority is trusted by all."""
        present = tuple(read_certificates(one) for one in self._trust.bundles())
        by_all = set(present[0]).intersection(*present[1:]) if present else set[x509.Certificate]()
        now_s = self._clock()
        self._trusted_since = {one: self._trusted_since.get(one, now_s) for one in by_all}
        return present

    def _settled(self) -> set[x509.Certificate]:
        """Return the authorities that are trusted for long enough, as this process saw itself."""
        before_s = self._clock() - self._life.settle.total_seconds()
        return {one for one, since_s in self._trusted_since.items() if since_s <= before_s}


def _say(step: Step, stored: Stored) -> None:
    for problem in stored.problems:
        _log.warning("the Secret of the webhook was damaged and is made anew: %s", problem)
    match step:
        case NewAuthority(reason=reason, with_leaf=with_leaf):
            _log.info("a new authority%s was made: %s", " and certificate" if with_leaf else "", reason)
        case RenewLeaf(reason=reason):
            _log.info("a new certificate was made: %s", reason)
        case Tidy(reason=reason):
            _log.info("the Secret of the webhook was tidied: %s", reason)
        case Keep():
            pass
