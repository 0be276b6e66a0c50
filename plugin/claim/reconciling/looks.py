"""One look while the plugin runs, and the repairs that are due then.

What is due is decided in ``plugin.claim.reconciling.repairs``. No lock is held while it looks, and none is
waited for while it repairs: a claim that a call works on is seen by the next look.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from agent.hardware.errors import HardwareError
from daemon.log_fields import fields
from plugin.base.budget import Budget, Budgets
from plugin.base.errors import LockTimeout, PluginError
from plugin.base.metrics import Metrics
from plugin.claim.attribution import logged
from plugin.claim.figures.figures import Figures
from plugin.claim.ports import ClaimFinder, LookObserver
from plugin.claim.quarantine.census import Census
from plugin.claim.reconciling.hardware import missing_of
from plugin.claim.reconciling.repairer import Over, Repairer
from plugin.claim.reconciling.repairs import End, Rewrite, RunningRepair, Tell, running_repairs
from plugin.claim.reconciling.sight import Sight
from plugin.claim.reconciling.told import ToldKept
from scheduler_core.model.claim import ClaimUid

_log = logging.getLogger(__name__)


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """Looks at the claims of one node. One thread looks at all of them at a time.

    Shape: ``kept`` what was logged of claims in quarantine; ``ended`` is called when a claim was undone;
           ``finder`` None where claims do not come from an API server.
    """

    repairer: Repairer
    sight: Sight
    kept: ToldKept
    metrics: Metrics
    figures: Figures
    budgets: Budgets
    ended: Callable[[], object]
    observer: LookObserver
    finder: ClaimFinder | None

    def look(self, is_wanted: Callable[[], bool] = _always) -> bool:
        """Look once, repair and tell; return whether the next look has time. Errors are logged, each once.

        Shape: ``is_wanted`` whether the plugin goes on; the look ends early where it does not.
        """
        self.metrics.count("looks_total")
        try:
            has_time = self._look(is_wanted)
        except (PluginError, HardwareError) as error:
            self.sight.errors.tell("look", f"claims are not looked after: {error}")
            has_time = False
        self.sight.errors.end_look()
        return has_time

    def look_at(self, uid: ClaimUid) -> bool:
        """Look at the devices of one prepared claim and tell what is new; return whether anything is.

        Any thread may call it. Raises: LockTimeout where a call works on the claim; PluginError,
        HardwareError.
        """
        boot_id = self.repairer.steps.machine.boot.boot_id()
        is_news = self._tell(uid, boot_id, self.budgets.begin(remaining_s=0.0))
        if is_news:
            self.metrics.count("repairs_total", kind=Tell.kind)
        return is_news

    def _look(self, is_wanted: Callable[[], bool]) -> bool:
        steps = self.repairer.steps
        census, boot_id = steps.store.census(), steps.machine.boot.boot_id()
        self._tell_kept(census, boot_id)
        seen = self.sight.seen(census, boot_id, self.finder, is_wanted)
        done = [
            self._tried(repair, boot_id) for repair in running_repairs(census, seen, boot_id) if is_wanted()
        ]
        for uid in sorted(seen.missing) if steps.metadata.is_wanted else ():
            self._write_metadata(uid, boot_id)
        self._measure(census, boot_id)
        return all(done)

    def _tried(self, repair: RunningRepair, boot_id: str) -> bool:
        """Make a repair; return whether nothing failed, and nothing may change again in a moment."""
        try:
            is_made = self._made(repair, boot_id, self.budgets.begin(remaining_s=0.0))
        except LockTimeout:  # a call works on the claim
            return True
        except (PluginError, HardwareError) as error:
            self.metrics.count("repair_failures_total", kind=repair.kind)
            self.sight.errors.tell(f"{repair}", f"repair {repair} failed and is tried again: {error}")
            return False
        if is_made:
            self.metrics.count("repairs_total", kind=repair.kind)
        return not isinstance(repair, Tell)

    def _made(self, repair: RunningRepair, boot_id: str, no_time: Budget) -> bool:
        match repair:
            case End(uid=uid):
                return self._end(uid, boot_id, no_time)
            case Tell(uid=uid):
                return self._tell(uid, boot_id, no_time)
            case Rewrite(uid=uid):
                return self._rewrite(uid, boot_id, no_time)
            case _:
                return self.repairer.settle(repair.uid, boot_id, no_time)

    def _end(self, uid: ClaimUid, boot_id: str, no_time: Budget) -> bool:
        finder, asking = self.finder, self.sight.asking
        assert finder is not None, "without it no claim is over"
        over = self.repairer.end(
            uid, boot_id, lambda ref, record: asking.why_over(finder, uid, ref, record), no_time
        )
        if over is not None and over.users:
            self._tell_in_use(uid, over)
            return False
        self.sight.in_use.discard(uid)
        if over is None:
            return False
        self.sight.forget(uid)
        self.observer.changed(uid, over.ref)
        self.ended()
        return True

    def _tell_in_use(self, uid: ClaimUid, over: Over) -> None:
        """Tell once that a claim is over and stays, because programs use its GPUs."""
        if uid in self.sight.in_use:
            return
        self.sight.in_use.add(uid)
        acts = "it is kept until they end; if nobody needs them, the operator ends them"
        why = f"{over.why}, but programs still use {over.users}; {acts}"
        about = fields(namespace=over.ref.namespace, claim=over.ref.name, uid=uid)
        _log.warning("claim %s (%s): %s", over.ref, uid, why, extra=about)
        self.observer.in_use(uid, over.ref, why)

    def _tell(self, uid: ClaimUid, boot_id: str, no_time: Budget) -> bool:
        """Tell the users of a claim what is missing, or that all of it is there again."""
        with self.repairer.locks.claim(uid, f"look at the devices of claim {uid}", no_time):
            record = self.repairer.prepared(uid, boot_id)
            if record is None:
                return False
            found = missing_of(self.repairer.steps, record)
            is_news = tuple(found) != tuple(self.sight.missing.by_claim.get(uid, ()))
            self.sight.missing.put(uid, found)
        if is_news and found:
            why = "; ".join(f"device {one.device}: {one.why}" for one in found)
            text = "claim %s (%s) lacks what was prepared for it: %s"
            _log.warning(text, record.ref, uid, why, extra=logged(record))
            self.observer.missing(uid, record.ref, why)
        elif is_news:
            _log.info("claim %s (%s) has all its devices again", record.ref, uid, extra=logged(record))
            self.observer.changed(uid, record.ref)
        return is_news

    def _rewrite(self, uid: ClaimUid, boot_id: str, no_time: Budget) -> bool:
        steps = self.repairer.steps
        with self.repairer.locks.claim(uid, f"write the CDI document of claim {uid}", no_time):
            record = self.repairer.prepared(uid, boot_id)
            if record is None:
                return False
            document = steps.document(record, steps.context(steps.node.snapshot, record))
            recorded = record.written_for(record)
            written = self.sight.documents.restore(uid, document, steps.is_on_host, recorded)
            if written is not None and written != recorded:
                steps.store.note(record.with_document(written))
        if written is not None:
            text = "claim %s (%s): its CDI document had been deleted or changed; it was written again"
            _log.warning(text, record.ref, uid, extra=logged(record))
        return written is not None

    def _write_metadata(self, uid: ClaimUid, boot_id: str) -> None:
        try:
            self.repairer.write_metadata(uid, boot_id, self.budgets.begin(remaining_s=0.0))
        except LockTimeout:
            return
        except PluginError as error:
            self.sight.errors.tell(f"metadata of {uid}", f"claim {uid}: its metadata is not written: {error}")

    def _tell_kept(self, census: Census, boot_id: str) -> None:
        kept = (one for one in census.quarantined if one.is_too_new or one.may_hold_in(boot_id))
        for one in self.kept.new(kept):
            self.observer.kept(one)

    def _measure(self, census: Census, boot_id: str) -> None:
        self.figures.measure(census, boot_id)
        self.metrics.set("claims_over_in_use", len(self.sight.in_use))
        self.metrics.set("missing_devices", sum(map(len, self.sight.missing.by_claim.values())))
