"""One request to an API server, as a value.

It has everything that the transport and an error message need. Nothing is sent here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Unpack

from kube_api.errors import About, Failure
from kube_api.resources import Resource

JSON: Final = "application/json"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One HTTP request, and how error messages name it.

    Shape: ``is_repeatable`` says that sending it twice does the same as sending it once; ``is_any_kind`` says
           that its answer may be of another kind, as a Status answers a pod's Binding; ``meanwhile`` is
           called once, while the answer to the first attempt is awaited; ``may_send`` is asked before each
           piece of the request is sent.
    """

    attempted: str
    method: str
    path: str
    resource: Resource | None = None
    name: str = ""
    namespace: str = ""
    query: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    body: bytes | None = None
    content_type: str = JSON
    is_repeatable: bool = True
    is_any_kind: bool = False
    meanwhile: Callable[[], None] | None = None
    may_send: Callable[[], bool] | None = None

    @property
    def is_reading(self) -> bool:
        """Whether the request changes nothing."""
        return self.method == "GET"

    def about(self, **failure: Unpack[Failure]) -> About:
        """Return what an error says about this call and its ``failure``."""
        return {"name": self.name, "namespace": self.namespace, **failure}


def on_object(
    attempted: str,
    method: str,
    resource: Resource,
    name: str,
    namespace: str | None,
    *,
    subresource: str | None = None,
    query: Mapping[str, str] = _NOTHING,
    body: bytes | None = None,
    content_type: str = JSON,
    is_repeatable: bool = True,
    meanwhile: Callable[[], None] | None = None,
) -> Call:
    """Return a request about one object. Raises: ValueError if the namespace does not fit the kind."""
    return Call(
        attempted=f"{attempted} {subresource} of" if subresource else attempted,
        method=method,
        path=resource.path(namespace, name, subresource),
        resource=resource,
        name=name,
        namespace=namespace or "",
        query={key: value for key, value in query.items() if value} if query else _NOTHING,
        body=body,
        content_type=content_type,
        is_repeatable=is_repeatable,
        is_any_kind=is_any_kind(subresource),
        meanwhile=meanwhile,
    )


def is_any_kind(subresource: str | None) -> bool:
    """Whether requests below an object may be answered by another kind than the object's."""
    return subresource not in (None, "status")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects of a kind are meant: without namespace and selectors all of them."""

    resource: Resource
    namespace: str | None = None
    label_selector: str = ""
    field_selector: str = ""

    def call(self, attempted: str, **query: str) -> Call:
        """Return the request that reads these objects; empty values of ``query`` are left out."""
        selectors = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return Call(
            attempted=attempted,
            method="GET",
            path=self.resource.path(self.namespace),
            resource=self.resource,
            namespace=self.namespace or "",
            query={key: value for key, value in (selectors | query).items() if value},
        )


def once(work: Callable[[], None]) -> Callable[[], None]:
    """Return a function that does ``work`` at its first call only: a repeated request must not repeat it."""
    left = [work]

    def first() -> None:
        while left:
            left.pop()()

    return first
