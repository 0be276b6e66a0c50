"""The compiled claims of an engine, by what the claims ask for. Claims with one signature share one.

A claim object that was seen before is found by its identity, any other by what it asks for. The cache is
cleared when it has too many signatures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.base.features import Features
from scheduler_core.engine.claims.claim_signature import ClaimSignature, content, signature_of
from scheduler_core.engine.claims.selector_cache import SelectorCache
from scheduler_core.engine.compiled_claim import CompiledClaim
from scheduler_core.engine.solve.planner import Planner
from scheduler_core.model.claim import Claim, DeviceClass
from scheduler_core.search.candidates import located
from scheduler_core.state.node_class import NodeView

_KINDS: Final = 256  # compiled claims kept; then the cache is cleared
_CLAIMS: Final = 1024  # claim objects remembered by identity


class CompiledClaims:
    """The cache of compiled claims. ``forgotten`` is called when it is cleared."""

    def __init__(
        self,
        planner: Planner,
        selector_cache: SelectorCache,
        features: Features,
        forgotten: Callable[[], None],
    ) -> None:
        self._planner = planner
        self._selector_cache = selector_cache
        self._features = features
        self._forgotten = forgotten
        self._classes: Mapping[str, DeviceClass] = {}
        self._by_content: dict[object, CompiledClaim] = {}
        self._met: dict[tuple[int, ...], tuple[CompiledClaim, tuple[Claim, ...]]] = {}

    def set_classes(self, classes: Mapping[str, DeviceClass]) -> None:
        """Replace all device classes."""
        self._classes = classes
        self._start_afresh()

    def of(self, claims: Sequence[Claim]) -> CompiledClaim:
        """Return the compiled claim for some claims.

        Raises: InvalidClaim for an unknown class; SelectorError for a selector that does not compile.
        """
        key = tuple(map(id, claims))
        met = self._met.get(key)
        if met is None:
            if len(self._met) >= _CLAIMS:
                self._met.clear()
            met = self._met[key] = (self.of_new(claims), tuple(claims))
        return met[0]

    def of_new(self, claims: Sequence[Claim]) -> CompiledClaim:
        """Return the same for claim objects that are used once: their identity is not remembered."""
        key = content(claims)
        compiled = self._by_content.get(key)
        if compiled is None:
            if len(self._by_content) >= _KINDS:
                self._start_afresh()
            signature, lists = self._signature(claims), self._features.DRAListTypeAttributes
            compiled = self._by_content[key] = CompiledClaim(
                signature, self._planner, self._selector_cache, lists=lists
            )
        return compiled

    def forget(self, node_view: NodeView) -> None:
        """Forget a node view that was dropped."""
        for compiled in self._by_content.values():
            compiled.forget(node_view)

    def _signature(self, claims: Sequence[Claim]) -> ClaimSignature:
        try:
            return signature_of(claims, self._classes, self._features)
        except SelectorError as error:
            raise located(error, claims, self._classes) from None

    def _start_afresh(self) -> None:
        self._by_content.clear()
        self._met.clear()
        self._forgotten()
