"""``tangram validate``: what is wrong with the objects in files.

The core judges claims, classes, slices and pods; here are the judges of what it does not know: the schemas of
all kinds, the policy of the agent, and the groups of the controller.
"""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from agent.policy.model import KIND as POLICY
from agent.policy.model import InvalidPolicy
from agent.policy.reading import read_policy
from controller.gangs.reading import membership_of
from scheduler_core.codec.claims import decode_class
from scheduler_core.codec.documents import Document
from scheduler_core.frontends.validation.documents import Judges
from scheduler_core.frontends.validation.finding import Finding, Level, Reporter, has_errors
from scheduler_core.frontends.validation.validate import validate
from tangram.classes import device_classes
from tangram.cluster_options import add_cluster
from tangram.face import DONE, WRONG_INPUT, Face, Subparsers, add_command
from tangram.files import add_files
from tangram.options import CONFIGURED_DRIVER, add_driver_name
from tangram.plain import plain
from tangram.preparable import driver_of
from tangram.program.streams import one_line
from tangram.summaries import SUMMARIES
from tangram.validation.input import read_input
from tangram.validation.schemas import schema_findings


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
    what = "objects to check; claims are compared with the slices among them"
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
    found = validate(
        [*given.judged, *given.known],
        driver,
        usual,
        judges=Judges(
            schema=schema_findings,
            kinds={POLICY: _policy, "DeviceTaintRule": lambda _: ()},
            group_of=membership_of,
        ),
        has_all_claims=not options.cluster,
    )
    findings = [one for one in found.findings if one.place in places]
    if options.json:
        value = {"valid": not has_errors(findings), "findings": plain(findings), "skipped": found.skipped}
        face.out.json(value)
    else:
        face.out.show(_picture(findings, len(given.judged), found.skipped))
    return WRONG_INPUT if has_errors(findings) else DONE


def _policy(document: Document) -> Iterator[Finding]:
    try:
        read_policy(document.place, document.content)
    except InvalidPolicy as error:
        yield Reporter(document).refused(error)


def _picture(findings: Sequence[Finding], documents: int, skipped: Mapping[str, int]) -> RenderableType:
    parts: list[RenderableType] = []
    for (place, subject), group in groupby(findings, key=lambda one: (one.place, one.subject)):
        parts.append(Text(one_line(f"{place}: {subject}"), style="bold"))
        for one in group:
            parts.append(Text(f"  {one.level.value}: {one_line(one.text)}"))
            if one.path:
                parts.append(Text(f"      at {one_line(one.path)}", style="dim"))
    counts = Counter(one.level for one in findings)
    errors, warnings = counts[Level.ERROR], counts[Level.WARNING]
    counted = f"{_many(documents, 'document')}: {_many(errors, 'error')}, {_many(warnings, 'warning')}"
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(skipped.items()))
    parts.append(f"{counted}; not judged: {kinds}" if skipped else counted)
    return Group(*parts)


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
