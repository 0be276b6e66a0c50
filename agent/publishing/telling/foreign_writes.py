"""Whether the API server keeps this agent to its own node's slices: asked once, told where it does not.

RBAC cannot tell nodes apart, so an admission policy does (deploy/manifests/base/admission-policy.yaml). One
that is not bound, or about another service account, refuses and says nothing: only a dry run shows it.
"""

from __future__ import annotations

import logging
from typing import Final

from agent.publishing.errors import NameTaken, NotAllowed, Outdated, ServerError
from agent.publishing.metrics import Metrics
from agent.publishing.ports import NodeEvents, SliceStore
from scheduler_core.publishing.documents import Document

_NOBODY: Final = "no-such-node"
_REASON: Final = "ForeignSlicesAllowed"
_log = logging.getLogger("agent.publishing")


class ForeignWrites:
    """What the server said. For one thread."""

    def __init__(self, store: SliceStore, driver: str, metrics: Metrics, node_events: NodeEvents) -> None:
        self._store = store
        self._driver = driver
        self._metrics = metrics
        self._node_events = node_events
        self._is_asked = False

    def ask(self) -> None:
        """Ask unless the server has answered before; never raises."""
        if self._is_asked:
            return
        try:
            self._store.create(foreign_slice(self._driver), dry_run=True)
        except NotAllowed:
            self._answered(is_allowed=False)
        except (Outdated, NameTaken):  # there is such a slice: the server looks for it after all policies
            self._answered(is_allowed=True)
        except ServerError as error:
            _log.debug("it is not known whether slices of other nodes may be written: %s", error)
        else:
            self._answered(is_allowed=True)

    def _answered(self, *, is_allowed: bool) -> None:
        self._is_asked = True
        self._metrics.set("foreign_slices_allowed", float(is_allowed))
        if not is_allowed:
            return
        text = (
            "the API server would let this agent write slices of other nodes: the admission policy "
            "tangram-slices-of-own-node is not there, not bound, or about another service account; the "
            "administrator applies deploy/manifests, and names this service account in the policy's binding"
        )
        _log.warning(text)
        self._node_events.warn(_REASON, text)


def foreign_slice(driver: str) -> Document:
    """Return an empty slice of a node that is not this one."""
    pool = {"name": _NOBODY, "generation": 1, "resourceSliceCount": 1}
    return {
        "metadata": {"name": f"{_NOBODY}-{driver}-00"},
        "spec": {"driver": driver, "nodeName": _NOBODY, "pool": pool, "devices": []},
    }
