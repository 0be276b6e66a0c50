"""``tangram validate``: what is wrong with claims, classes and pods in files."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from scheduler_core.codec.claims import decode_class
from scheduler_core.frontends.validation.finding import Finding, Level, has_errors
from scheduler_core.frontends.validation.validate import validate
from tangram.classes import device_classes
from tangram.cluster_options import add_cluster
from tangram.face import DONE, WRONG_INPUT, Face, Subparsers, add_command
from tangram.files import add_files
from tangram.options import CONFIGURED_DRIVER, add_driver_name
from tangram.plain import plain
from tangram.preparable import driver_of
from tangram.summaries import SUMMARIES
from tangram.validated_input import read_input


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    parser = add_command(
        parsers,
        "validate",
        SUMMARIES["validate"],
        "tangram show --node dgx-a100 --as v1 | tangram validate -f - \\\n"
        "    -f deploy/examples/device-classes.yaml -f deploy/examples/mig-claim.yaml",
        _run,
    )
    what = "claims, templates, classes, pods or what makes pods, and slices to compare them with"
    add_files(parser, f"YAML or JSON with {what}")
    add_cluster(
        parser, "compare with the slices and classes of a cluster; without --file its claims are judged"
    )
    add_driver_name(parser, CONFIGURED_DRIVER)


def _run(options: Namespace, face: Face) -> int:
    given = read_input(options, face)
    driver = driver_of(options)
    usual = [] if options.cluster else [decode_class(one) for one in device_classes(driver)]
    places = {document.place for document in given.judged}
    found = validate([*given.judged, *given.known], driver, usual)
    findings = [one for one in found if one.place in places]
    if options.json:
        face.out.json({"valid": not has_errors(findings), "findings": plain(findings)})
    else:
        face.out.show(_picture(findings, len(given.judged)))
    return WRONG_INPUT if has_errors(findings) else DONE


def _picture(findings: Sequence[Finding], documents: int) -> RenderableType:
    parts: list[RenderableType] = []
    for (place, subject), group in groupby(findings, key=lambda one: (one.place, one.subject)):
        parts.append(Text(f"{place}: {subject}", style="bold"))
        for one in group:
            parts.append(Text(f"  {one.level.value}: {one.text}"))
            if one.path:
                parts.append(Text(f"      at {one.path}", style="dim"))
    counts = Counter(one.level for one in findings)
    errors, warnings = counts[Level.ERROR], counts[Level.WARNING]
    parts.append(f"{_many(documents, 'document')}: {_many(errors, 'error')}, {_many(warnings, 'warning')}")
    return Group(*parts)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
