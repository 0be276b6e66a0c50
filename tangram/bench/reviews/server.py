"""The webhook's server with a certificate of its own, for the benchmark. Every review is allowed at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from controller.certificates.life import Life
from controller.certificates.making import key_pem_of, new_authority, new_leaf, pem_of
from controller.webhook.server import WebhookServer, serving
from daemon.tls import tls_settings
from tangram.bench.reviews.clients import HOST


@contextmanager
def serving_reviews() -> Iterator[tuple[int, str]]:
    """Serve while the block runs; hand out the port and what to trust."""
    now, life = datetime.now(UTC), Life()
    signer = new_authority(now, life)
    leaf = new_leaf(signer, [HOST], now, life)
    context = tls_settings(pem_of(leaf.certificate), key_pem_of(leaf.key))
    server = WebhookServer(
        ("127.0.0.1", 0),
        contexts=lambda: context,
        review=_allowed,
        is_ready=lambda: True,
        observe=lambda _status, _seconds: None,
    )
    with serving(server) as port:
        yield port, pem_of(signer.certificate).decode()


def _allowed(review: dict[str, Any]) -> dict[str, Any]:
    kind = {key: review[key] for key in ("apiVersion", "kind")}
    return {**kind, "response": {"uid": review["request"]["uid"], "allowed": True}}
