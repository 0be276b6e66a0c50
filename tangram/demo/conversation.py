"""Draws gRPC calls: what the kubelet sent and what the plugin answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from tangram.demo.kubelet import Exchange
from tangram.program.output import yaml_text


def conversation(exchanges: Sequence[Exchange]) -> Group:
    """Draw the calls in their order."""
    return Group(*(line for exchange in exchanges for line in _lines(exchange)))


def _lines(exchange: Exchange) -> Iterator[Text]:
    yield Text(f"kubelet → plugin  {exchange.method}", style="bold cyan")
    yield from _message(exchange.request)
    yield Text("plugin → kubelet", style="bold magenta")
    yield from _message(exchange.response)


def _message(message: Mapping[str, Any]) -> Iterator[Text]:
    if not message:
        yield Text("    (empty)", style="dim")
        return
    for line in yaml_text([message]).splitlines():
        yield Text(f"    {line}", style="red" if line.lstrip().startswith("error:") else "")
